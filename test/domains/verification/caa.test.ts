import { expect, test } from "vitest";
import { AUTHORITIES, judgeCaa } from "../../../lib/domains/verification/caa.ts";
import type { CaaRecord } from "../../../lib/domains/verification/resolver.ts";

const { amazon } = AUTHORITIES;

function set(...lines: readonly string[]): readonly CaaRecord[] {
  return lines.map((line) => {
    const [, flags, tag = "", value = ""] = /^(\d+) (\S+) (.*)$/.exec(line) ?? [];
    return { flags: Number(flags), tag, value };
  });
}

test.each<[string, readonly CaaRecord[]]>([
  ["an empty set", set()],
  ["the authority's name", set("0 issue amazon.com")],
  ["another of its names", set("0 issue awstrust.com")],
  ["the name in another case, with spaces and a trailing dot", set("0 issue  Amazon.COM. ")],
  ["parameters after the name", set("0 issue amazon.com; account=12345; validationmethods=dns-01")],
  ["the name beside others", set("0 issue letsencrypt.org", "0 issue amazon.com")],
  ["the name beside a general no", set("0 issue ;", "0 issue amazon.com")],
  ["a tag in upper case", set("0 ISSUE amazon.com")],
  ["the critical flag on a known tag", set("128 issue amazon.com", "128 iodef mailto:a@example.com")],
  ["an unknown tag that is not critical", set("0 tbs unknown")],
  ["flags without the critical bit", set("127 tbs unknown")],
  ["contacts alone", set("0 iodef mailto:a@example.com")],
  ["a rule for wildcards alone", set("0 issuewild letsencrypt.org")],
])("a plain name is permitted by %s (RFC 8659)", (_, records) => {
  expect(judgeCaa(records, amazon)).toEqual({ permits: true });
});

test.each<[string, readonly CaaRecord[]]>([
  ["another authority's name", set("0 issue letsencrypt.org")],
  ["a general no", set("0 issue ;")],
  ["an empty value", set("0 issue ")],
  ["a no with parameters", set("0 issue ; policy=ev")],
  ["a name that only contains it", set("0 issue amazon.com.example.org")],
  ["a name below it", set("0 issue ca.amazon.com")],
  ["the name as a parameter", set("0 issue letsencrypt.org; amazon.com")],
  ["a value that is no name", set("0 issue amazon com")],
  ["a permission for wildcards alone beside it", set("0 issue letsencrypt.org", "0 issuewild amazon.com")],
])("a plain name is forbidden by %s (RFC 8659)", (_, records) => {
  expect(judgeCaa(records, amazon)).toEqual({ permits: false, because: "not_listed" });
});

test.each([128, 129, 255])("a critical record (flags %i) of an unknown tag forbids everything", (flags) => {
  const records = [...set("0 issue amazon.com"), { flags, tag: "tbs", value: "x" }];
  expect(judgeCaa(records, amazon)).toEqual({ permits: false, because: "unknown_critical" });
});

test.each<[string, readonly CaaRecord[], boolean]>([
  ["issuewild alone", set("0 issuewild amazon.com"), true],
  ["issuewild instead of issue", set("0 issue letsencrypt.org", "0 issuewild amazon.com"), true],
  ["issuewild, although issue permits", set("0 issue amazon.com", "0 issuewild ;"), false],
  ["issue where there is no issuewild", set("0 issue amazon.com"), true],
  ["issue where there is no issuewild, also to forbid", set("0 issue letsencrypt.org"), false],
])("a wildcard is governed by %s", (_, records, permits) => {
  expect(judgeCaa(records, amazon, { wildcard: true }).permits).toBe(permits);
});
