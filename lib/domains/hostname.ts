import { isIP } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";
import { getPublicSuffix } from "tldts";

/** A hostname in its one form (lower case, punycode, no trailing dot), or what is wrong with it and its mend. */
export type ParsedHostname = { readonly hostname: string } | { readonly problem: string };

/**
 * Reads a hostname that people wrote (decision 18): in any case, with a trailing dot, internationalised or not.
 * Refuses whatever cannot be a public host of its own: a URL, a port, a wildcard, an address, a name with one
 * label, a public suffix.
 */
export function parseHostname(text: string): ParsedHostname {
  const problem = rejectNonName(text.normalize("NFKC"));
  if (problem !== undefined) return { problem };
  // UTS 46 maps case, width and look-alike dots. It lets most of what is no hostname pass, so it is no check.
  const hostname = domainToASCII(text).toLowerCase().replace(/\.$/, "");
  const flaw = hostname === "" ? NOT_IDNA : validateName(hostname);
  return flaw === undefined ? { hostname } : { problem: flaw };
}

/** A DNS name in lower case without its trailing dot. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

const NOT_IDNA =
  "This is not an internationalised name that DNS can carry. Write letters, digits, hyphens and dots.";

/** What stands beside a name, or instead of one. Looked for first, as the mapping would cut some of it off. */
function rejectNonName(text: string): string | undefined {
  const url = /^[a-z][a-z0-9+.-]*:\/\/([^/?#@]*@)?([^/?#:]*)/i.exec(text);
  if (text === "") return "This is empty. Write a hostname such as orders.example.com.";
  if (url !== null) return `This is a URL. Write its hostname alone${suggested(url[2])}.`;
  if (/\s/.test(text)) return "A hostname has no spaces. Remove them.";
  if (isIP(text.replace(/^\[(.*)\](:\d*)?$/, "$1")) === 6) return IS_ADDRESS;
  const port = /^([^:/]+):\d*$/.exec(text);
  if (port !== null) return `The port does not belong here. Write the hostname alone${suggested(port[1])}.`;
  if (/[/?#\\]/.test(text)) {
    return `A path or query does not belong here. Write the hostname alone${suggested(/^[^/?#\\]*/.exec(text)?.[0])}.`;
  }
  if (text.includes("*")) return "A wildcard cannot be served. Write each host by its own name.";
  if (text.includes("_")) return "A hostname has no underscore. Write a hyphen, or choose another name.";
  const [odd] = /[^a-z0-9.\u0080-\u{10ffff}-]/iu.exec(text) ?? [];
  if (odd !== undefined) {
    return `A hostname has no ${JSON.stringify(odd)}. Write letters, digits, hyphens and dots.`;
  }
  return undefined;
}

const IS_ADDRESS = "This is an address. Write a hostname, since certificates and records are made for names.";

/** What is wrong with a name that has been mapped to lower-case ASCII (RFC 1123, RFC 5891, the PSL). */
function validateName(name: string): string | undefined {
  const labels = name.split(".");
  const last = labels.at(-1) ?? "";
  // A last label that is a number makes the whole an IPv4 address to every browser, as 127.1 and 0x7f.1 are.
  if (/^(\d+|0x[0-9a-f]*)$/.test(last)) return IS_ADDRESS;
  if (labels.includes("")) return "There is an empty label. Remove the extra dot.";
  if (name.length > 253) return `The name has ${name.length} characters. Shorten it to 253.`;
  for (const label of labels) {
    if (label.length > 63) return `The label ${label} has ${label.length} characters. Shorten it to 63.`;
    if (!/^[a-z0-9-]*$/.test(label)) return NOT_IDNA;
    if (label.startsWith("-") || label.endsWith("-")) {
      return `The label ${label} begins or ends with a hyphen. Remove it.`;
    }
    if (label.startsWith("xn--") && domainToUnicode(label) === label) {
      return `The label ${label} is no valid punycode. Write the name in its own script instead.`;
    }
  }
  if (labels.length === 1)
    return "A name with one label is not public. Write the whole name, such as orders.example.com.";
  if (isPublicSuffix(name)) {
    return `${name} is a public suffix, below which others register names. Write a name of your own, such as example.${name}.`;
  }
  return undefined;
}

/**
 * Both sections of the public suffix list count. A suffix of the private section (`github.io`, `uk.com`) is
 * as little the reader's own as `co.uk` is, and a name below one is delegated like a name below `co.uk`.
 */
function isPublicSuffix(name: string): boolean {
  return getPublicSuffix(name, { allowPrivateDomains: true, extractHostname: false }) === name;
}

function suggested(host: string | undefined): string {
  const parsed = host === undefined ? { problem: "" } : parseHostname(host);
  return "hostname" in parsed ? `: ${parsed.hostname}` : "";
}
