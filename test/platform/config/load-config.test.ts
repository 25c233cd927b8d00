import t from "tap";
import { describeConfig, optionsOf } from "../../../src/platform/config/describe-config.ts";
import {
  customField,
  formatListenAddress,
  isLoopbackHost,
  optionalField,
  parseBoolean,
  parseChoice,
  parseDurationMs,
  parseHttpUrl,
  parseInteger,
  parseList,
  parseListenAddress,
  parseSizeBytes,
  parseText,
} from "../../../src/platform/config/field.ts";
import { ConfigError, loadConfig } from "../../../src/platform/config/load-config.ts";

const schema = {
  dataDir: customField(parseText, {
    environment: "APP_DATADIR",
    flag: "data-dir",
    defaultValue: "./data",
    description: "data",
  }),
  port: customField(parseInteger({ min: 1, max: 65535 }), {
    environment: "APP_PORT",
    flag: "port",
    defaultValue: 80,
    description: "port",
  }),
  isTls: customField(parseBoolean, { environment: "APP_TLS", defaultValue: false, description: "TLS" }),
  waitMs: customField(parseDurationMs({ minMs: 1 }), { flag: "wait", defaultValue: 1000, description: "wait" }),
  key: optionalField(parseText, { environment: "APP_KEY", isSecret: true, description: "key" }),
  hosts: customField(parseList(parseText, 3), {
    flag: "host",
    isRepeatable: true,
    defaultValue: [],
    description: "hosts",
  }),
};

function load(environment: Record<string, string>, flags: Record<string, unknown> = {}) {
  return loadConfig(
    {
      schema,
      prefixes: ["APP_"],
      crossChecks: (config) => (config.port === 443 && !config.isTls ? ["APP_PORT 443 needs APP_TLS"] : []),
    },
    {
      environment,
      flags,
      readFile: (path) => {
        if (path === "/run/key") return "from-file\n";
        throw Object.assign(new Error("no"), { code: "ENOENT" });
      },
    },
  );
}

function problemsOf(environment: Record<string, string>, flags?: Record<string, unknown>): readonly string[] {
  try {
    load(environment, flags);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

t.test("loadConfig() takes flags before the environment before defaults", async (t) => {
  t.strictSame({ ...load({}) }, { dataDir: "./data", port: 80, isTls: false, waitMs: 1000, key: undefined, hosts: [] });
  t.equal(load({ APP_PORT: "81" }).port, 81);
  t.equal(load({ APP_PORT: "81" }, { port: "82" }).port, 82);
  t.equal(load({ APP_PORT: "" }).port, 80, "an empty variable counts as unset");
  t.strictSame(load({}, { host: ["a", "b,c"] }).hosts, ["a", "b", "c"], "repeated and comma-separated");
  t.equal(load({ APP_KEY_FILE: "/run/key" }).key, "from-file", "one trailing line feed is dropped");
  t.ok(Object.isFrozen(load({})));
});

t.test("loadConfig() reports every problem at once", async (t) => {
  t.strictSame(problemsOf({ APP_PORT: "0", APP_TLS: "maybe", APP_DATDIR: "/x" }, { wait: "soon", host: ["a,b,c,d"] }), [
    "APP_DATDIR is not a known variable: did you mean APP_DATADIR",
    'APP_PORT: must be a whole number from 1 to 65535, not "0"',
    'APP_TLS: must be true or false, not "maybe"',
    '--wait: must be a duration such as 30s, 5m or 1h30m, not "soon"',
    "--host: must have at most 3 items, not 4",
  ]);
  t.strictSame(problemsOf({ APP_KEY: "a", APP_KEY_FILE: "/run/key" }), [
    "APP_KEY and APP_KEY_FILE are both set: use one of them",
  ]);
  t.strictSame(problemsOf({ APP_KEY_FILE: "/none" }), ['APP_KEY_FILE: cannot read "/none": ENOENT']);
  t.strictSame(problemsOf({ APP_PORT: "443" }), ["APP_PORT 443 needs APP_TLS"]);
  t.match(new ConfigError(["a", "b"]).message, "configuration validation failed:\n  1. a\n  2. b");
});

t.test("loadConfig() requires what is required and never shows a secret", async (t) => {
  const strict = {
    token: customField(
      (text) => {
        if (text.length < 16) throw new Error("unreachable in this test");
        return text;
      },
      { environment: "APP_TOKEN", flag: "token", isRequired: true, isSecret: true, description: "the token" },
    ),
  };
  const sources = { environment: {}, readFile: () => "" };
  t.throws(
    () => loadConfig({ schema: strict, prefixes: [] }, sources),
    /1\. --token or APP_TOKEN is required: the token/,
  );
  const numeric = {
    pin: customField(parseInteger({ min: 0 }), {
      environment: "APP_PIN",
      isSecret: true,
      isRequired: true,
      description: "pin",
    }),
  };
  try {
    loadConfig({ schema: numeric, prefixes: [] }, { environment: { APP_PIN: "hunter2" }, readFile: () => "" });
    t.fail("must not load");
  } catch (error) {
    t.notMatch(String(error), "hunter2");
    t.match(String(error), "[hidden]");
  }
});

t.test("describeConfig() and optionsOf() show settings for people", async (t) => {
  const environment = { APP_KEY: "topsecret", APP_PORT: "99" };
  const sources = { environment, flags: { host: ["a"] }, readFile: () => "" };
  const config = loadConfig({ schema, prefixes: ["APP_"] }, sources);
  const rows = describeConfig(schema, config, sources);
  t.strictSame(
    rows.map((row) => `${row.name}=${row.value} (${row.source})`),
    [
      "APP_DATADIR=./data (default)",
      "APP_PORT=99 (environment)",
      "APP_TLS=false (default)",
      "--wait=1000 (default)",
      "APP_KEY=[set] (environment)",
      "--host=a (flag)",
    ],
  );
  const options = optionsOf(schema);
  t.strictSame(Object.keys(options), ["data-dir", "port", "wait", "host"]);
  t.match(options["port"]?.description, "default 80, $APP_PORT");
});

t.test("field parsers accept and refuse at their limits", async (t) => {
  const sizes = parseSizeBytes({ min: 1, max: 1024 });
  t.equal(sizes("1KiB"), 1024);
  t.throws(() => sizes("1025"), /at most 1024/);
  t.throws(() => sizes("0"), /at least 1/);
  t.throws(() => sizes("1 parsec"), /must be a size/);
  t.equal(parseSizeBytes()("100MB"), 100_000_000);
  t.equal(parseSizeBytes()("2g"), 2 * 1024 ** 3);
  t.equal(parseDurationMs()("1h30m"), 5_400_000);
  t.equal(parseDurationMs()("15"), 15_000, "a bare number counts seconds");
  t.throws(() => parseDurationMs({ maxMs: 1000 })("2s"), /at most 1000 ms/);
  t.equal(parseChoice(["a", "b"])("a"), "a");
  t.throws(() => parseChoice(["a", "b"])("c"), /one of a, b/);
  t.equal(parseHttpUrl("http://host:1/"), "http://host:1");
  t.throws(() => parseHttpUrl("ftp://host"), /http or https/);
  t.throws(() => parseHttpUrl("host:1"), /URL/);
  t.throws(() => parseText(""), /empty/);
});

t.test("parseListenAddress() knows its three forms", async (t) => {
  for (const text of [":8080", "127.0.0.1:0", "[::1]:8080", "localhost:65535"]) {
    t.equal(formatListenAddress(parseListenAddress(text)), text);
  }
  for (const text of ["8080", ":65536", "::1:80", "host", "a:b", ":-1", ""]) {
    t.throws(() => parseListenAddress(text), /must be an address/, text);
  }
  t.equal(isLoopbackHost(undefined), false);
  t.equal(isLoopbackHost("127.1.2.3"), true);
  t.equal(isLoopbackHost("::1"), true);
  t.equal(isLoopbackHost("0.0.0.0"), false);
  t.equal(isLoopbackHost("127.0.0.1.example.com"), false);
});
