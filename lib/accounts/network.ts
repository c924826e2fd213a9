/** The network that a caller counts for: an IPv4 address, or an IPv6 /48 (`site`) and its /64 (`subnet`). */
export interface Network {
  readonly site: string;
  readonly subnet?: number;
}

/**
 * Reads an address as a socket or a proxy reports it. The same address is the same network in every notation: with a
 * port, a zone, zero-padded, or IPv4 mapped to IPv6. Anything that is not an address counts for itself.
 */
export function networkOf(address: string): Network {
  const text = address.trim().toLowerCase();
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(text)?.[1];
  const host = (bracketed ?? text).replace(/%.*$/, "");
  const groups = parseIpv6(host);
  if (groups === undefined)
    return { site: parseIpv4(host.replace(/:\d*$/, ""))?.join(".") ?? host.slice(0, 64) };
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return {
      site: groups
        .slice(6)
        .flatMap((group) => [group >> 8, group & 0xff])
        .join("."),
    };
  }
  const [first = 0, second = 0, third = 0, subnet = 0] = groups;
  return { site: `${[first, second, third].map((group) => group.toString(16)).join(":")}::/48`, subnet };
}

function parseIpv4(text: string): number[] | undefined {
  if (!/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text)) return undefined;
  const bytes = text.split(".").map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

/** The eight groups of an IPv6 address, whose last two can be written as IPv4. */
function parseIpv6(text: string): number[] | undefined {
  const [head = "", tail, ...rest] = text.split("::");
  if (!text.includes(":") || rest.length > 0) return undefined;
  const [left, right] = [parseGroups(head), parseGroups(tail ?? "")];
  if (left === undefined || right === undefined) return undefined;
  const zeros = 8 - left.length - right.length;
  if (tail === undefined ? zeros !== 0 : zeros < 0) return undefined;
  return [...left, ...new Array<number>(zeros).fill(0), ...right];
}

function parseGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  for (const part of text.split(":")) {
    const ipv4 = parseIpv4(part);
    if (ipv4 !== undefined) {
      const [a = 0, b = 0, c = 0, d = 0] = ipv4;
      groups.push(a * 256 + b, c * 256 + d);
    } else if (/^[0-9a-f]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}
