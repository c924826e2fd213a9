/** The rules for domains use no module of Node, so that they are the same in browsers. Node's own functions agree with them. */
import { BlockList } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isPlatformHost, parseHostname } from "../../lib/domains/hostname.ts";
import { CLOUDFLARE_RANGES, isProxyAddress } from "../../lib/domains/verification/providers.ts";

const letters = fc.constantFrom(..."aß日本éä१ŐΩжı٣e\u0301ｗ。-x.1");
const unicodeNames = fc
  .array(fc.oneof(letters, fc.string({ unit: "grapheme", minLength: 1, maxLength: 2 })), { maxLength: 12 })
  .map((parts) => `${parts.join("")}.example.org`);
const punycodeNames = fc
  .array(fc.string({ unit: fc.constantFrom(..."abcxyz0189-"), minLength: 1, maxLength: 12 }), {
    minLength: 1,
    maxLength: 2,
  })
  .map((labels) => `${labels.map((label) => `xn--${label}`).join(".")}.example.org`);

test("a hostname has the ASCII form that Node gives it, and a punycode label is valid if Node decodes and encodes it", () => {
  let valid = 0;
  const check = (text: string) => {
    const parsed = parseHostname(text);
    const ascii = domainToASCII(text.trim()).replace(/\.$/, "");
    if (parsed.ok) {
      valid++;
      expect(parsed.hostname).toBe(ascii);
      const labels = parsed.hostname.split(".").filter((label) => label.startsWith("xn--"));
      for (const label of labels) expect(domainToUnicode(label)).not.toBe(label);
    } else if (parsed.code === "invalid_idn" && /not valid punycode/.test(parsed.message)) {
      const [, label = ""] = /The label (\S+)/.exec(parsed.message) ?? [];
      // Node also decodes labels that it would not encode like this, which RFC 5891 (section 5.4) does not permit.
      const written = domainToUnicode(label);
      expect(written === label || domainToASCII(written) !== label).toBe(true);
    } else {
      const [, written, label] = /The label (\S+) \((\S+)\) mixes/.exec(parsed.message) ?? [];
      if (label !== undefined) expect(written).toBe(domainToUnicode(label));
    }
  };
  fc.assert(fc.property(fc.oneof(unicodeNames, punycodeNames), check), { numRuns: 5_000 });
  for (const name of ["раypal.example.org", "яндекс.рф", "straße.de", "日本語.jp", "ｅｘａｍｐｌｅ.org"])
    check(name);
  expect(valid).toBeGreaterThan(500);
});

test("an address is Cloudflare's exactly if it is in one of the published ranges", () => {
  const list = new BlockList();
  for (const range of CLOUDFLARE_RANGES) {
    const [net = "", length] = range.split("/");
    list.addSubnet(net, Number(length), net.includes(":") ? "ipv6" : "ipv4");
  }
  const starts = CLOUDFLARE_RANGES.map((range) => range.split("/")[0] ?? "");
  const near4 = fc
    .tuple(
      fc.constantFrom(...starts.filter((net) => net.includes("."))),
      fc.integer(),
      fc.integer({ min: 0, max: 24 }),
    )
    .map(([net, noise, shift]) => {
      const number = net.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) ^ (noise >>> shift);
      return [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join(".");
    });
  const near6 = fc
    .tuple(
      fc.constantFrom(...starts.filter((net) => net.includes(":"))),
      fc.array(fc.nat({ max: 65_535 }), { maxLength: 5 }),
    )
    .map(([net, groups]) => `${net}${groups.map((group) => group.toString(16)).join(":")}`);
  let inside = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        near4,
        near6,
        fc.ipV4(),
        fc.ipV6().filter((address) => !address.includes(".")),
      ),
      (address) => {
        const expected = list.check(address, address.includes(":") ? "ipv6" : "ipv4");
        if (expected) inside++;
        expect(isProxyAddress(address), address).toBe(expected);
      },
    ),
    { numRuns: 5_000 },
  );
  expect(inside).toBeGreaterThan(500);
});

test("an answer that is no address is not one of a proxy", () => {
  for (const text of ["1:2:3:4:5:6:7:8:9", ":", "::", "a", "", "999.1.1.1"])
    expect(isProxyAddress(text), text).toBe(false);
});

test.each(["eu-central-1", "cn-north-1", "us-gov-west-1", "eusc-de-east-1"])(
  "a host of the region %s is the platform's, in both of the forms that the AWS SDK makes",
  (Region) => {
    const { endpointProvider } = new DynamoDBClient({ region: Region }).config;
    for (const UseDualStack of [false, true]) {
      const { hostname } = endpointProvider({ Region, UseDualStack, UseFIPS: false }).url;
      expect(hostname).toContain(Region);
      expect(isPlatformHost(hostname)).toBe(true);
    }
  },
);
