/** The type of the record for an IP address. */
export type AddressType = "A" | "AAAA";

export const typeOf = (address: string): AddressType => (address.includes(":") ? "AAAA" : "A");

/** Reads an IP address in any notation, and returns the usual one (RFC 5952). Undefined if the text is none. */
export function parseAddress(text: string): string | undefined {
  const isIpv6 = text.includes(":");
  const url = `http://${isIpv6 ? `[${text}]` : text}`;
  if (!/^[\da-f:.]+$/i.test(text) || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  if (isIpv6) return hostname.slice(1, -1);
  // A URL may also leave out parts of an IPv4 address.
  return hostname === text ? text : undefined;
}

/** In one order, because servers vary it. */
export const formatAddresses = (addresses: readonly string[]): string =>
  addresses
    .map((address) => `${typeOf(address)} ${address}`)
    .toSorted()
    .join(", ");

/** True for an address in one of the ranges, each such as `10.0.0.0/8`. */
export function isInRanges(address: string, ranges: readonly string[]): boolean {
  const bits = bitsOf(address);
  return ranges.some((range) => {
    const [net = "", length] = range.split("/");
    return bits.startsWith(bitsOf(net).slice(0, "4 ".length + Number(length)));
  });
}

/** The family and the bits of an address in the usual notation (RFC 4291, section 2.2). */
function bitsOf(address: string): string {
  const toBits = (numbers: readonly string[], radix: number, length: number) =>
    numbers.map((number) => Number.parseInt(number, radix).toString(2).padStart(length, "0")).join("");
  if (!address.includes(":")) return `4 ${toBits(address.split("."), 10, 8)}`;
  const groupsOf = (text: string) => text.split(":").filter(Boolean);
  // A resolver of the caller's can answer with more groups than there are.
  const zeros = "0:".repeat(Math.max(0, 8 - groupsOf(address).length));
  return `6 ${toBits(groupsOf(address.replace("::", `:${zeros}`)), 16, 16)}`;
}

/** The ranges that nobody reaches from the internet (IANA's special-purpose registries). */
const RANGES = {
  private: "10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16 fc00::/7",
  loopback: "127.0.0.0/8 ::1/128",
  "link-local": "169.254.0.0/16 fe80::/10",
  unspecified: "0.0.0.0/8 ::/128",
  documentation: "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
};

const rangeOf = (address: string): string | undefined =>
  Object.entries(RANGES).find(([, ranges]) => isInRanges(address, ranges.split(" ")))?.[0];

/** True for an address that only an internal network has. */
export const isPrivateAddress = (address: string): boolean =>
  ["private", "loopback", "link-local"].includes(rangeOf(address) ?? "");

/** Says which of the addresses nobody reaches from the internet. */
export function explainAddresses(addresses: readonly string[]): readonly string[] {
  const unreached = addresses.filter((address) => rangeOf(address) !== undefined);
  return unreached.map(
    (address) =>
      `${address} is ${rangeOf(address) === "unspecified" ? "an" : "a"} ${rangeOf(address)} address: no visitor and no certificate authority reaches it.`,
  );
}
