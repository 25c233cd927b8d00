import t from "tap";
import { ConfigError } from "../../src/platform/config/load-config.ts";
import { loadQueueConfig } from "../../src/queue/config.ts";

const load = (environment: Record<string, string>) =>
  loadQueueConfig({ environment, readFile: () => "secret-of-a-file" });
const problemsOf = (environment: Record<string, string>): readonly string[] => {
  try {
    load(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
};

t.test("defaults: loopback, data in ./data", async (t) => {
  const config = load({});
  t.strictSame(config.listenHttp, { host: "127.0.0.1", port: 8080 });
  t.strictSame(config.listenGrpc, { host: "127.0.0.1", port: 9000 });
  t.equal(config.dataDir, "./data");
  t.equal(config.nodeId, "node-1");
  t.equal(config.defaultPartitions, 3);
  t.equal(config.maxMessageBytes, 1_048_576);
  t.equal(config.isHealthPublic, true);
  t.equal(config.isTlsEnabled, false);
});

t.test("listen addresses in all forms", async (t) => {
  t.strictSame(load({ QUEUE_LISTENERS_HTTP: ":8080" }).listenHttp, { host: undefined, port: 8080 });
  t.strictSame(load({ QUEUE_LISTENERS_HTTP: "[::1]:0" }).listenHttp, { host: "::1", port: 0 });
});

t.test("every problem is told, with the nearest name of an unknown variable", async (t) => {
  const problems = problemsOf({
    QUEUE_LISTENERS_HTPP: ":1",
    QUEUE_LISTENERS_GRPC: "nine",
    QUEUE_TLS_MIN_VERSION: "1.1",
    QUEUE_DEFAULT_PARTITIONS: "1025",
  });
  t.equal(problems.length, 4);
  t.match(problems[0], /QUEUE_LISTENERS_HTPP.*did you mean QUEUE_LISTENERS_HTTP/);
  t.match(problems.join("\n"), /QUEUE_LISTENERS_GRPC: must be an address/);
});

const conflicts: readonly { name: string; environment: Record<string, string>; problem: RegExp }[] = [
  {
    name: "TLS without files",
    environment: { QUEUE_TLS_ENABLED: "true" },
    problem: /CERT_FILE and QUEUE_TLS_KEY_FILE are required/,
  },
  { name: "files without TLS", environment: { QUEUE_TLS_CERT_FILE: "a" }, problem: /set QUEUE_TLS_ENABLED=true/ },
  {
    name: "verified clients without a CA",
    environment: {
      QUEUE_TLS_ENABLED: "true",
      QUEUE_TLS_CERT_FILE: "a",
      QUEUE_TLS_KEY_FILE: "b",
      QUEUE_TLS_CLIENT_AUTH: "require-verify",
    },
    problem: /needs QUEUE_TLS_CA_FILE/,
  },
  {
    name: "client certificates without TLS",
    environment: { QUEUE_TLS_CLIENT_AUTH: "require" },
    problem: /needs QUEUE_TLS_ENABLED/,
  },
  { name: "a node id with a blank", environment: { QUEUE_BROKER_NODEID: "a b" }, problem: /QUEUE_BROKER_NODEID/ },
  {
    name: "one address for both",
    environment: { QUEUE_LISTENERS_GRPC: "127.0.0.1:8080" },
    problem: /is the address of QUEUE_LISTENERS_HTTP too/,
  },
  {
    name: "authentication, which is not there",
    environment: { QUEUE_AUTH_ENABLED: "true" },
    problem: /not in this release/,
  },
  {
    name: "reflection, which is not there",
    environment: { QUEUE_GRPC_REFLECTION: "true" },
    problem: /not in this release/,
  },
  {
    name: "clustering, which is not there",
    environment: { QUEUE_CLUSTER_ENABLED: "true" },
    problem: /not in this release/,
  },
];
for (const { name, environment, problem } of conflicts) {
  t.test(`refuses ${name}`, async (t) => {
    const problems = problemsOf(environment);
    t.equal(problems.length, 1, problems.join("; "));
    t.match(problems[0], problem);
  });
}

t.test("variables of the client commands are known, secrets come from files too", async (t) => {
  t.strictSame(problemsOf({ QUEUE_SERVER: "http://x", QUEUE_API_KEY: "k" }), []);
  t.equal(load({ QUEUE_API_ROOT_KEY_FILE: "/run/key" }).rootKey, "secret-of-a-file");
});
