import { getPublicSuffix, parse } from "tldts";
import { isWithin } from "./zone.ts";

/** The reason why a string is not a valid hostname. Only `parseCustomHost` returns the last two codes. */
export type HostnameErrorCode =
  | "empty"
  | "url"
  | "port"
  | "path"
  | "wildcard"
  | "ip_address"
  | "invalid_character"
  | "invalid_label"
  | "invalid_idn"
  | "too_long"
  | "single_label"
  | "public_suffix"
  | "special_use"
  | "platform_host";

/** A hostname that cannot be used. The message has the fix. */
export interface HostnameError {
  readonly ok: false;
  readonly code: HostnameErrorCode;
  readonly message: string;
}

/** A hostname in normal form (lower case, punycode, no trailing dot), or the reason why the string is not one. */
export type ParsedHostname = { readonly ok: true; readonly hostname: string } | HostnameError;

/** Parses a public hostname in any spelling. Public suffixes, and names with a single label, are errors. */
export function parseHostname(text: string): ParsedHostname {
  // Callers without types may pass anything.
  if (typeof text !== "string" || text === "") return EMPTY;
  const foreign = findForeignSyntax(text.normalize("NFKC"));
  if (foreign !== undefined) return foreign;
  // UTS 46 maps case, width and look-alike dots. It accepts most invalid names, so the result is validated below.
  const hostname = parseHost(text).replace(/\.$/, "");
  const error = hostname === "" ? (text === "." ? EMPTY : INVALID_IDN) : validateName(hostname);
  return error ?? { ok: true, hostname };
}

/** A host as the URL standard parses it, in lower-case ASCII (UTS 46). Empty if it is not valid. */
function parseHost(host: string): string {
  try {
    return new URL(`ws://${host}`).hostname;
  } catch {
    return "";
  }
}

const FOREIGN_SYNTAX: readonly (readonly [RegExp, HostnameErrorCode, message: string])[] = [
  [/^[a-z][a-z0-9+.-]*:\/\//i, "url", "This is a URL. Write only its hostname, such as orders.example.com."],
  [/^[^:/]+:\d*$/, "port", "This contains a port. Write only the hostname, such as orders.example.com."],
  [/[/?#\\]/, "path", "This contains a path or query. Write only the hostname, such as orders.example.com."],
  [/\*/, "wildcard", "Wildcards are not supported. List each host by its full name."],
];

/** Finds foreign syntax. Runs before the IDNA mapping, which would silently drop some of it. */
function findForeignSyntax(text: string): HostnameError | undefined {
  // The part behind a percent sign is the zone of a link-local address.
  const [, ipv6] = /^\[?([^\][%]*:[^\][%]*)(?:%[^\][]*)?(?:\](?::\d*)?)?$/.exec(text) ?? [];
  if (ipv6 !== undefined && parseHost(`[${ipv6}]`) !== "") return IP_ADDRESS;
  const [, code, problem = ""] = FOREIGN_SYNTAX.find(([pattern]) => pattern.test(text)) ?? [];
  if (code !== undefined) return invalid(code, problem);
  const [character] = /[^a-z0-9.\u0080-\u{10ffff}-]|\s/iu.exec(text) ?? [];
  if (character === undefined) return undefined;
  const message = `A hostname cannot contain ${JSON.stringify(character)}. Use only letters, digits, hyphens and dots.`;
  return invalid("invalid_character", message);
}

/** Validates a lower-case ASCII name (RFC 1123, RFC 5891, the public suffix list). */
function validateName(name: string): HostnameError | undefined {
  const labels = name.split(".");
  // The URL parser has completed short addresses, such as 127.1 and 0x7f.1, and rejected other names that end in a number.
  if (/\.\d+$/.test(name)) return IP_ADDRESS;
  if (labels.includes(""))
    return invalid("invalid_label", "The name contains an empty label. Remove the extra dot.");
  if (name.length > MAX_NAME_CHARS) {
    const message = `The name has ${name.length} characters. Shorten it to ${MAX_NAME_CHARS} or fewer.`;
    return invalid("too_long", message);
  }
  for (const label of labels) {
    const error = validateLabel(label);
    if (error !== undefined) return error;
  }
  if (labels.length === 1) {
    const message =
      "A name with a single label is not public. Write the full name, such as orders.example.com.";
    return invalid("single_label", message);
  }
  // Also of its private section: nobody can own `github.io` or `uk.com` any more than `co.uk`.
  const suffix = getPublicSuffix(name, { allowPrivateDomains: true, extractHostname: false });
  if (suffix !== name) return undefined;
  const message = `${name} is a public suffix, under which others register names. Use a name of your own, such as orders.example.com.`;
  return invalid("public_suffix", message);
}

/** Limits of RFC 1035, 2.3.4, without the trailing dot. */
const MAX_NAME_CHARS = 253;
const MAX_LABEL_CHARS = 63;

function validateLabel(label: string): HostnameError | undefined {
  if (label.length > MAX_LABEL_CHARS) {
    const message = `The label ${label} has ${label.length} characters. Shorten it to ${MAX_LABEL_CHARS} or fewer.`;
    return invalid("too_long", message);
  }
  if (!/^[a-z0-9-]*$/.test(label)) return INVALID_IDN;
  if (label.startsWith("-") || label.endsWith("-"))
    return invalid("invalid_label", `The label ${label} starts or ends with a hyphen. Remove it.`);
  if (!label.startsWith("xn--")) return undefined;
  const written = decodePunycode(label.slice("xn--".length));
  if (written === undefined || parseHost(written) !== label) {
    const message = `The label ${label} is not valid punycode. Write the name in its own script instead.`;
    return invalid("invalid_idn", message);
  }
  const scripts = LOOK_ALIKE_SCRIPTS.filter(([, script]) => script.test(written)).map(([name]) => name);
  if (scripts.length < 2) return undefined;
  const message = `The label ${written} (${label}) mixes ${scripts.join(" and ")} letters, which look alike. Write it in one script.`;
  return invalid("invalid_idn", message);
}

/** Decodes a label without its prefix `xn--` (RFC 3492, section 6.2); `undefined` if it is not valid. */
function decodePunycode(encoded: string): string | undefined {
  const delimiter = encoded.lastIndexOf("-");
  const ascii = [...encoded.slice(0, Math.max(0, delimiter))];
  const output = ascii.map((character) => character.codePointAt(0) ?? 0);
  let [codePoint, bias, position] = [128, 72, 0];
  for (let next = delimiter + 1; next < encoded.length; ) {
    const previous = position;
    for (let weight = 1, k = 36; ; k += 36) {
      const digit = "abcdefghijklmnopqrstuvwxyz0123456789".indexOf(encoded[next++] ?? "-");
      if (digit === -1) return undefined;
      position += digit * weight;
      const threshold = Math.min(26, Math.max(1, k - bias));
      if (digit < threshold) break;
      weight *= 36 - threshold;
    }
    const length = output.length + 1;
    let delta = Math.floor((position - previous) / (previous === 0 ? 700 : 2));
    delta += Math.floor(delta / length);
    let shift = 0;
    for (; delta > 455; shift += 36) delta = Math.floor(delta / 35);
    bias = shift + Math.floor((36 * delta) / (delta + 38));
    codePoint += Math.floor(position / length);
    position %= length;
    if (codePoint > 0x10ffff) return undefined;
    output.splice(position++, 0, codePoint);
  }
  return String.fromCodePoint(...output);
}

/** For people, an internationalised hostname with its own script: `xn--bcher-kva.example (bücher.example)`. */
export function showHost(host: string): string {
  const written = host.replace(/(?<![^.])xn--([^.]+)/g, (label, encoded) => decodePunycode(encoded) ?? label);
  return written === host ? host : `${host} (${written})`;
}

/** Scripts with letters that cannot be told apart. Registries do not permit them in one label. */
const LOOK_ALIKE_SCRIPTS = [
  ["Latin", /\p{Script=Latin}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
] as const;

/** An unknown top-level domain is probably a typing error, and no reason to reject it: there will be new ones. */
export function explainTopLevel(host: string): readonly string[] {
  if (parse(host, { extractHostname: false }).isIcann) return [];
  const name = host.slice(host.lastIndexOf(".") + 1);
  return [`${host} ends with .${name}, which is no known top-level domain. Check its spelling.`];
}

function invalid(code: HostnameErrorCode, message: string): HostnameError {
  return { ok: false, code, message };
}

const IP_ADDRESS = invalid(
  "ip_address",
  "This is an IP address. Write a hostname: certificates and records are issued for names.",
);

const EMPTY = invalid("empty", "The hostname is empty. Write one such as orders.example.com.");

const INVALID_IDN = invalid(
  "invalid_idn",
  "This is not a valid internationalised name. Use only letters, digits, hyphens and dots.",
);

/** As `parseHostname`, for a host that can serve a project: special-use and platform names are errors, too. */
export function parseCustomHost(host: string): ParsedHostname {
  const parsed = parseHostname(host);
  if (!parsed.ok) return parsed;
  const { hostname } = parsed;
  const reserved = SPECIAL_USE_DOMAINS.find((domain) => isWithin(hostname, domain));
  const fix = "Write a host under a domain of your own, such as orders.example.com.";
  const special = `${hostname} ends with .${reserved}, a special-use name: nobody can register it, and no certificate is issued for it. ${fix}`;
  if (reserved !== undefined) return invalid("special_use", special);
  const ofPlatform = `${hostname} belongs to the cloud platform, whose own host always serves. ${fix}`;
  return isPlatformHost(hostname) ? invalid("platform_host", ofPlatform) : parsed;
}

/** Names that are reserved for special use (RFC 6761, 6762, 7686, 9476; ICANN for .internal). */
const SPECIAL_USE_DOMAINS = "alt arpa example internal invalid local localhost onion test".split(" ");

export function isPlatformHost(host: string): boolean {
  return PLATFORM_DOMAINS.some((domain) => isWithin(host, domain));
}

/** The domains of AWS's partitions, by the beginning of their regions' names (partitions.json of the AWS SDK). */
export const AWS_PARTITIONS: Readonly<Record<string, readonly string[]>> = {
  cn: ["amazonaws.com.cn", "amazonwebservices.com.cn"],
  "us-gov": ["amazonaws.com", "api.aws"],
  eusc: ["amazonaws.eu", "amazonwebservices.eu"],
};

const PLATFORM_DOMAINS = ["on.aws", "cloudfront.net", ...Object.values(AWS_PARTITIONS).flat()];
