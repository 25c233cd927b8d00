/** The small pure parts of the engine, each at its limits and with bad input. */
import t from "tap";
import { daysBetween, isCalendarDate } from "../../../src/fleet/model/calendar-date.ts";
import { matchesGlob, parseGlob } from "../../../src/fleet/model/glob.ts";
import {
  acceptsKey,
  maxIgnoreRules,
  parseIgnoreRules,
  parseIgnoreTokens,
} from "../../../src/fleet/model/ignore-rules.ts";
import {
  allowsMinor,
  maxConstraintLength,
  parseKubeVersionConstraint,
} from "../../../src/fleet/model/kube-version-constraint.ts";
import {
  type KubernetesMinor,
  minorOfVersion,
  parseKubernetesMinor,
} from "../../../src/fleet/model/kubernetes-minor.ts";
import { compareText, smallest } from "../../../src/fleet/model/order.ts";
import { compareVersions, isInCycle, isInRange, parseVersion } from "../../../src/fleet/model/product-version.ts";
import { scoreOf, verdictOf } from "../../../src/fleet/model/score.ts";
import {
  createTeamLookup,
  maxTeamMapRules,
  maxTeamNameSizeBytes,
  parseTeamMap,
} from "../../../src/fleet/model/team-map.ts";
import { isDomainError } from "../../../src/platform/errors/domain-error.ts";

t.test("parseKubernetesMinor() takes minors and nothing else", async (t) => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["1.34", "1.34"],
    ["v1.34", "1.34"],
    ["1.0", "1.0"],
    ["1.034", undefined],
    ["1.34.0", undefined],
    ["2.0", undefined],
    ["1.", undefined],
    ["1.1000", undefined],
    ["", undefined],
    [" 1.34", undefined],
  ];
  for (const [text, expected] of cases) t.equal(parseKubernetesMinor(text), expected, `"${text}"`);
});

t.test("minorOfVersion() drops patch and vendor parts", async (t) => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["v1.34.2", "1.34"],
    ["v1.34.2-eks-3abc", "1.34"],
    ["1.27+", "1.27"],
    ["v1.33.5-gke.1162000", "1.33"],
    ["1.9", "1.9"],
    ["v2.1.0", undefined],
    ["unknown", undefined],
    ["v1.x", undefined],
    ["", undefined],
  ];
  for (const [text, expected] of cases) t.equal(minorOfVersion(text), expected, `"${text}"`);
});

t.test("calendar dates count over leap days and year ends", async (t) => {
  t.equal(daysBetween("2026-11-21", "2026-11-21"), 0);
  t.equal(daysBetween("2026-12-31", "2027-01-01"), 1);
  t.equal(daysBetween("2028-02-28", "2028-03-01"), 2);
  t.equal(daysBetween("2027-02-28", "2027-03-01"), 1);
  t.equal(daysBetween("2000-02-28", "2000-03-01"), 2);
  t.equal(daysBetween("2027-03-01", "2026-03-01"), -365);
  for (const good of ["2024-02-29", "2000-02-29", "2026-12-31"]) t.ok(isCalendarDate(good), good);
  for (const bad of [
    "2023-02-29",
    "1900-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-04-31",
    "2026-4-1",
    "26-04-01",
    "",
    "2026-11-21T00:00",
  ]) {
    t.equal(isCalendarDate(bad), false, bad);
  }
});

t.test("globs match whole texts", async (t) => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["shop", "shop", true],
    ["shop", "shops", false],
    ["shop-*", "shop-eu", true],
    ["shop-*", "shop-", true],
    ["*", "a/b", false],
    ["**", "a/b", true],
    ["**/pdb.yaml", "pdb.yaml", true],
    ["**/pdb.yaml", "a/b/pdb.yaml", true],
    ["**/pdb.yaml", "a/xpdb.yaml", false],
    ["**/", "a", false],
    ["a/**/z.yaml", "a/z.yaml", true],
    ["a/**/z.yaml", "a/xz.yaml", false],
    ["a/**/z.yaml", "a/b/c/z.yaml", true],
    ["a/*/z.yaml", "a/b/c/z.yaml", false],
    ["?", "", false],
    ["?", "x", true],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["[!a-c]x", "dx", true],
    ["[]]", "]", true],
    ["a+b(c)", "a+b(c)", true],
    ["", "", true],
    ["", "x", false],
  ];
  for (const [pattern, text, expected] of cases) {
    const glob = parseGlob(pattern);
    t.equal(glob !== undefined && matchesGlob(glob, text), expected, `${pattern} on ${text}`);
  }
  t.equal(parseGlob("[a"), undefined, "an unclosed set is refused");
  const slow = parseGlob(`${"*a".repeat(50)}b`);
  t.equal(slow !== undefined && matchesGlob(slow, "a".repeat(5000)), false, "many stars end in good time");
});

t.test("versions of products compare by their numbers", async (t) => {
  t.strictSame(parseVersion("v1.8.1-eksbuild.3"), [1, 8, 1]);
  t.strictSame(parseVersion("3.5.1-0"), [3, 5, 1]);
  t.strictSame(parseVersion("2.10-alpine"), [2, 10]);
  for (const none of ["latest", "", "sha256:abc", "main", "x1.2"]) t.equal(parseVersion(none), undefined, none);
  t.equal(compareVersions([1, 10], [1, 9]) > 0, true);
  t.equal(compareVersions([1, 2], [1, 2, 0]), 0);
  t.equal(isInCycle([1, 19, 3], "1.19"), true);
  t.equal(isInCycle([1, 19, 3], "1"), true);
  t.equal(isInCycle([1, 1], "1.19"), false);
  t.equal(isInCycle([1], "1.0"), false, "a version that stops short is in no longer cycle");
  t.equal(isInRange([0, 9, 9], "<0.10"), true);
  t.equal(isInRange([0, 10], "<0.10"), false);
  t.equal(isInRange([0, 17, 9], ">=0.10 <0.18"), true);
  t.equal(isInRange([0, 18, 0], ">=0.10 <0.18"), false);
});

t.test("kubeVersion constraints are read as Helm reads them", async (t) => {
  const cases: readonly (readonly [string, KubernetesMinor, boolean | undefined])[] = [
    [">=1.25-0", "1.25", true],
    [">=1.25-0", "1.24", false],
    [">= 1.25.0-0", "1.25", true],
    [">=1.19.0 <1.30.0", "1.29", true],
    [">=1.19.0 <1.30.0", "1.30", false],
    [">=1.19.0, <1.30.5", "1.30", true],
    [">1.20", "1.20", false],
    [">1.20", "1.21", true],
    [">1.20.3", "1.20", true],
    ["<=1.30", "1.30", true],
    ["<=1.30.0", "1.30", true],
    ["<1.30", "1.30", false],
    ["1.30", "1.30", true],
    ["=1.30.2", "1.30", true],
    ["1.30.x", "1.31", false],
    ["1.x", "1.99", true],
    ["*", "1.30", true],
    ["!=1.30", "1.30", false],
    ["!=1.30.1", "1.30", true],
    ["~1.30.2", "1.30", true],
    ["~1.30.2", "1.31", false],
    ["^1.20", "1.36", true],
    ["^1.20", "1.19", false],
    ["1.20 - 1.25", "1.25", true],
    ["1.20 - 1.25", "1.26", false],
    ["<1.20 || >=1.30", "1.25", false],
    ["<1.20 || >=1.30", "1.30", true],
    [">=2.0", "1.30", false],
    ["v1.30", "1.30", true],
    ["nonsense", "1.30", undefined],
    [">=", "1.30", undefined],
    ["1.30 ||", "1.30", undefined],
    ["1.2.3.4", "1.30", undefined],
    ["", "1.30", undefined],
    [" ".repeat(maxConstraintLength), "1.30", undefined],
    [`>=1.25${" ".repeat(maxConstraintLength - 6)}`, "1.30", true],
    [`>=1.25${" ".repeat(maxConstraintLength - 5)}`, "1.30", undefined],
  ];
  for (const [text, target, expected] of cases) {
    const constraint = parseKubeVersionConstraint(text);
    t.equal(constraint && allowsMinor(constraint, target), expected, `${text.trim()} on ${target}`);
  }
});

t.test("score and verdict", async (t) => {
  const cases: readonly (readonly [number, number, number])[] = [
    [0, 0, 100],
    [1, 0, 75],
    [2, 1, 45],
    [3, 0, 25],
    [4, 0, 25],
    [0, 3, 85],
    [0, 4, 80],
    [0, 5, 80],
    [3, 4, 5],
    [9, 99, 5],
  ];
  for (const [blockers, warnings, score] of cases)
    t.equal(scoreOf({ blockers, warnings }), score, `${blockers} and ${warnings}`);
  t.equal(verdictOf(1, true), "blocked");
  t.equal(verdictOf(0, true), "unknown");
  t.equal(verdictOf(0, false), "ready");
});

t.test("smallest() equals sorting and cutting, at and around its limit", async (t) => {
  for (const length of [0, 1, 9, 10, 11, 39, 40, 41, 1000]) {
    const values = Array.from({ length }, (_, position) => `v${(position * 7919) % 1009}`);
    t.strictSame(smallest(values, 10, compareText), [...values].sort(compareText).slice(0, 10), `${length} values`);
  }
});

t.test("parseTeamMap() refuses what would be misread", async (t) => {
  const bad: readonly (readonly [unknown, RegExp])[] = [
    [{}, /not a list/],
    [["x"], /entry 1 has no `pattern`/],
    [[{ pattern: "a", team: "b" }, { pattern: "a" }], /entry 2 has no `team`/],
    [[{ pattern: "", team: "b" }], /no `pattern`/],
    [[{ pattern: "a", team: "  " }], /no `team`/],
    [[{ pattern: "[a", team: "b" }], /unclosed/],
    [[{ pattern: "a", team: "b", extra: 1 }], /unknown field "extra"/],
    [[{ pattern: "a", team: "(unattributed)" }], /stands for findings that no team owns/],
    [[{ pattern: "a", team: "x".repeat(maxTeamNameSizeBytes + 1) }], /longer than/],
    [Array.from({ length: maxTeamMapRules + 1 }, () => ({ pattern: "a", team: "b" })), /at most/],
  ];
  for (const [value, message] of bad) {
    t.throws(() => parseTeamMap(value), { code: "team_map_invalid", message }, String(message));
  }
  t.doesNotThrow(() => parseTeamMap([{ pattern: "a", team: "x".repeat(maxTeamNameSizeBytes) }]));
  t.doesNotThrow(() => parseTeamMap(Array.from({ length: maxTeamMapRules }, () => ({ pattern: "a", team: "b" }))));
});

t.test("a team map overrides labels, first match first, and * is told", async (t) => {
  const { teamMap, warnings } = parseTeamMap([
    { pattern: "pay-eu", team: "payments" },
    { pattern: "pay-*", team: "*" },
    { pattern: "free text *", team: "Käse & Co, Ltd" },
  ]);
  t.strictSame(warnings, ['team map entry 2 names the team "*", which is read as the team "(*)"']);
  const teamOf = createTeamLookup(
    [{ name: "pay-eu", team: "labelled" }, { name: "shop", team: "storefront" }, { name: "lone" }],
    teamMap,
  );
  t.equal(teamOf("pay-eu"), "payments");
  t.equal(teamOf("pay-us"), "(*)");
  t.equal(teamOf("shop"), "storefront");
  t.equal(teamOf("lone"), undefined);
  t.equal(teamOf("lone"), undefined, "asked twice");
  t.equal(teamOf("elsewhere"), undefined);
});

t.test("names and patterns of a team map keep their order", async (t) => {
  const lookup = (rules: readonly (readonly [string, string])[], namespace: string): string | undefined =>
    createTeamLookup([], parseTeamMap(rules.map(([pattern, team]) => ({ pattern, team }))).teamMap)(namespace);
  t.equal(
    lookup(
      [
        ["shop-*", "a"],
        ["shop-eu", "b"],
      ],
      "shop-eu",
    ),
    "a",
    "a pattern before the name",
  );
  t.equal(
    lookup(
      [
        ["shop-eu", "b"],
        ["shop-*", "a"],
      ],
      "shop-eu",
    ),
    "b",
    "the name before a pattern",
  );
  t.equal(
    lookup(
      [
        ["shop-eu", "b"],
        ["shop-eu", "c"],
      ],
      "shop-eu",
    ),
    "b",
    "the first of two equal names",
  );
  t.equal(
    lookup(
      [
        ["shop-eu", "b"],
        ["shop-*", "a"],
      ],
      "shop-us",
    ),
    "a",
  );
});

t.test("parseIgnoreRules() refuses rules that are unclear", async (t) => {
  const good = { key: "removed-api/*", reason: "agreed" };
  const bad: readonly (readonly [unknown, RegExp])[] = [
    ["x", /not a list/],
    [[1], /rule 1 is not a mapping/],
    [[good, []], /rule 2 is not a mapping/],
    [[{ reason: "x" }], /neither `key` nor `category`/],
    [[{ key: "a", category: "b", reason: "x" }], /both `key` and `category`/],
    [[{ key: "a" }], /no `reason`/],
    [[{ key: "a", reason: "  " }], /no `reason`/],
    [[{ key: "a", reason: "x", expires: "tomorrow" }], /no date/],
    [[{ key: "a", reason: "x", expires: "2026-02-30" }], /no date/],
    [[{ key: "a", reason: "x", namespce: "y" }], /unknown field "namespce"/],
    [[{ key: "a", reason: "x", namespace: 4 }], /not text/],
    [[{ key: "a", reason: "x", file: "" }], /is empty/],
    [[{ key: "a", reason: "x", name: "[b" }], /unclosed/],
    [Array.from({ length: maxIgnoreRules + 1 }, () => good), /at most/],
  ];
  for (const [value, message] of bad) {
    t.throws(() => parseIgnoreRules(value, "config"), { code: "ignore_config_invalid", message }, String(message));
  }
  const [rule] = parseIgnoreRules([{ ...good, namespace: "shop", expires: "2026-12-31" }], "agent");
  t.strictSame(rule, { ...good, namespace: "shop", expires: "2026-12-31", source: "agent" });
  t.equal(
    parseIgnoreRules(
      Array.from({ length: maxIgnoreRules }, () => good),
      "config",
    ).length,
    maxIgnoreRules,
  );
});

t.test("ignore tokens accept a key or whole leading segments of it", async (t) => {
  t.strictSame(parseIgnoreTokens(" removed-api,\n drain/pdb-zero ,, "), ["removed-api", "drain/pdb-zero"]);
  const key = "removed-api/policy/v1beta1/PodDisruptionBudget";
  for (const token of ["removed-api", "removed-api/policy", key]) t.ok(acceptsKey(token, key), token);
  for (const token of ["removed", "removed-api/pol", "policy", "*", `${key}/x`, ""])
    t.notOk(acceptsKey(token, key), token);
});

t.test("errors of the model are operating errors", async (t) => {
  try {
    parseTeamMap(7);
  } catch (error) {
    t.ok(isDomainError(error) && error.kind === "invalid_argument");
  }
});
