import t from "tap";
import {
  checkBranch,
  checkMaskScripts,
  checkName,
  checkSource,
  expiryOf,
  maskSqlBytesMax,
} from "../../../src/branching/model/requests.ts";

t.test("names are 1 to 41 lowercase letters, digits and dashes", async (t) => {
  const good = ["a", "0", "a-b", "pr-7", "a".repeat(41), "9-", `${"b".repeat(40)}-`];
  const bad = ["", "-a", "A", "a_b", "a b", "a".repeat(42), "é", "a\n", "../x", "a;b"];
  for (const name of good) t.doesNotThrow(() => checkName("branch", name), name);
  for (const name of bad) {
    t.throws(
      () => checkName("source", name),
      { code: "invalid_request", kind: "invalid_argument" },
      JSON.stringify(name),
    );
  }
});

t.test("checkSource() fills in the defaults of the contract", async (t) => {
  t.strictSame(checkSource({ name: "shop", host: " db " }), {
    name: "shop",
    host: "db",
    port: 5432,
    user: "postgres",
    database: "postgres",
    network: undefined,
    pgVersion: "17",
    via: "basebackup",
    dumpSchemas: [],
    image: undefined,
  });
});

t.test("checkSource() refuses what cannot be seeded", async (t) => {
  const base = { name: "shop", host: "db" };
  const cases: readonly { name: string; given: object; expected: RegExp }[] = [
    { name: "blank host", given: { host: "  " }, expected: /host is blank/ },
    { name: "socket", given: { host: "/tmp" }, expected: /socket path/ },
    { name: "two hosts", given: { host: "a,b" }, expected: /spaces, commas/ },
    { name: "control in host", given: { host: "a\u0000b" }, expected: /control/ },
    { name: "port 0", given: { port: 0 }, expected: /from 1 to 65535/ },
    { name: "port 65536", given: { port: 65_536 }, expected: /from 1 to 65535/ },
    { name: "port 1.5", given: { port: 1.5 }, expected: /from 1 to 65535/ },
    { name: "version 13", given: { pgVersion: "13" }, expected: /must be one of 14, 15, 16, 17, 18/ },
    { name: "version 19", given: { pgVersion: "19" }, expected: /must be one of/ },
    { name: "minor version", given: { pgVersion: "17.4" }, expected: /must be one of/ },
    { name: "unknown method", given: { via: "snapshot" }, expected: /basebackup or dump/ },
    { name: "schemas with basebackup", given: { dumpSchemas: ["a"] }, expected: /only via=dump/ },
    { name: "comma in a schema", given: { via: "dump", dumpSchemas: ["a,b"] }, expected: /commas/ },
    { name: "blank schema", given: { via: "dump", dumpSchemas: [" "] }, expected: /blank/ },
    { name: "blank user", given: { user: " " }, expected: /user is blank/ },
    { name: "blank database", given: { database: "" }, expected: /database is blank/ },
    { name: "long user", given: { user: "u".repeat(64) }, expected: /at most 63/ },
    { name: "image with a flag", given: { image: "--privileged" }, expected: /image reference/ },
    { name: "network with a space", given: { network: "a b" }, expected: /container network/ },
  ];
  for (const { name, given, expected } of cases)
    t.throws(() => checkSource({ ...base, ...given }), { message: expected }, name);
  t.doesNotThrow(() => checkSource({ ...base, user: "u".repeat(63), port: 65_535, pgVersion: "14" }));
  t.doesNotThrow(() => checkSource({ ...base, image: "localhost:5000/team/pg@sha256:0123", network: "my_net.1" }));
});

t.test("checkBranch() wants exactly one origin and a whole TTL", async (t) => {
  t.doesNotThrow(() => checkBranch({ name: "b", source: "s", ttlSeconds: 0 }));
  t.doesNotThrow(() => checkBranch({ name: "b", parent: "p" }));
  t.throws(() => checkBranch({ name: "b" }), { message: /neither is set/ });
  t.throws(() => checkBranch({ name: "b", source: "s", parent: "p" }), { message: /both are set/ });
  for (const ttlSeconds of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(
      () => checkBranch({ name: "b", source: "s", ttlSeconds }),
      { message: /whole number/ },
      String(ttlSeconds),
    );
  }
});

t.test("expiryOf() takes the default, caps at the longest", async (t) => {
  const cases: readonly {
    ttl: number | undefined;
    byDefault: number;
    longest: number;
    expected: number | undefined;
  }[] = [
    { ttl: undefined, byDefault: 0, longest: 0, expected: undefined },
    { ttl: 0, byDefault: 0, longest: 0, expected: undefined },
    { ttl: 10, byDefault: 0, longest: 0, expected: 11_000 },
    { ttl: 0, byDefault: 5000, longest: 0, expected: 6000 },
    { ttl: 10, byDefault: 5000, longest: 0, expected: 11_000 },
    { ttl: 10, byDefault: 0, longest: 9999, expected: 10_999 },
    { ttl: 10, byDefault: 0, longest: 10_000, expected: 11_000 },
    { ttl: 10, byDefault: 0, longest: 10_001, expected: 11_000 },
    { ttl: undefined, byDefault: 0, longest: 7000, expected: 8000 },
    { ttl: undefined, byDefault: 8000, longest: 7000, expected: 8000 },
  ];
  for (const { ttl, byDefault, longest, expected } of cases) {
    t.equal(
      expiryOf(1000, ttl, { defaultTtlMs: byDefault, maxTtlMs: longest }),
      expected,
      `${ttl} ${byDefault} ${longest}`,
    );
  }
});

t.test("checkMaskScripts() refuses empty scripts and more than 1 MiB in all", async (t) => {
  t.doesNotThrow(() => checkMaskScripts([]));
  t.doesNotThrow(() => checkMaskScripts([{ name: "m", sql: "x".repeat(maskSqlBytesMax) }]));
  t.throws(
    () =>
      checkMaskScripts([
        { name: "m", sql: "x".repeat(maskSqlBytesMax) },
        { name: "n", sql: "y" },
      ]),
    { message: /at most 1048576/ },
  );
  t.throws(() => checkMaskScripts([{ name: "m", sql: " \n" }]), { message: /the script is empty/ });
  t.throws(() => checkMaskScripts([{ name: "m", sql: "select 1;\0" }]), { message: /zero byte/ });
});
