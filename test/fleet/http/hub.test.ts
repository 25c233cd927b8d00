import t from "tap";
import { loadHubConfig } from "../../../src/fleet/cli/serve-command.ts";
import { startHub } from "../../../src/fleet/start-hub.ts";
import { ConfigError } from "../../../src/platform/config/load-config.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";

const removed = `apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: { name: web, namespace: shop }
spec: { minAvailable: 1, selector: { matchLabels: { app: web } } }
`;
const current = removed.replace("policy/v1beta1", "policy/v1");
const yaml = { "Content-Type": "application/x-yaml" };

async function start(t: { teardown(action: () => unknown): void }, flags: Record<string, unknown> = {}) {
  const config = loadHubConfig({
    environment: {},
    flags: { listen: "127.0.0.1:0", ...flags },
    readFile: () => "",
  });
  const hub = await startHub(config, { logger: silentLogger, version: "0.0.0-test", cwd: process.cwd() });
  t.teardown(() => hub[Symbol.asyncDispose]());
  return hub;
}

t.test("POST /api/v1/gate answers 200 or 422 with the verdict", async (t) => {
  const { url } = await start(t);
  const post = (query: string, body: string, headers: Record<string, string> = yaml) =>
    fetch(`${url}/api/v1/gate?${query}`, { method: "POST", headers, body });

  const failed = await post("target=1.36&path=charts/web.yaml", removed);
  t.equal(failed.status, 422);
  t.equal(failed.headers.get("x-fleetscope-verdict"), "blocked");
  const report = (await failed.json()) as { findings: { key: string; objects: { file: string; line: number }[] }[] };
  const finding = report.findings.find(({ key }) => key === "removed-api/policy/v1beta1/PodDisruptionBudget");
  t.match(finding?.objects[0], { file: "charts/web.yaml", line: 1 });

  const passed = await post("target=1.36", current);
  t.equal(passed.status, 200);
  t.equal(passed.headers.get("x-fleetscope-verdict"), "ready");
  t.equal((await post("target=1.36&fail-on=never", removed)).status, 200);
  t.equal((await post("target=1.24", removed)).headers.get("x-fleetscope-verdict"), "ready", "served until 1.24");

  const config = encodeURIComponent("ignore: [{ key: 'removed-api/policy/**', reason: accepted }]");
  t.equal((await post(`target=1.36&config=${config}`, removed)).status, 200, "an ignore rule accepts it");

  const sarif = await post("target=1.36", removed, { ...yaml, Accept: "application/sarif+json" });
  t.equal(sarif.headers.get("content-type"), "application/sarif+json");
  t.match(await sarif.json(), { version: "2.1.0", runs: [{ results: [{ level: "error" }] }] });
});

t.test("POST /api/v1/gate refuses what it cannot judge, without a verdict", async (t) => {
  const { url } = await start(t, { "max-gate-bytes": "2048" });
  const cases = [
    { query: "target=1.36", body: "", status: 422, error: /no Kubernetes objects/ },
    { query: "target=1.36", body: "a: [", status: 422, error: /line 1/ },
    { query: "target=banana", body: current, status: 422, error: /a target is a minor/ },
    { query: "", body: current, status: 400, error: /target/ },
    { query: "target=1.36&fail-on=maybe", body: current, status: 400, error: /fail-on/ },
    { query: "target=1.36&format=pdf", body: current, status: 400, error: /format must be one of/ },
    { query: `target=1.36&path=${"x".repeat(513)}`, body: current, status: 422, error: /at most 512/ },
    {
      query: `target=1.36&config=${encodeURIComponent("ignore: [{ key: x }]")}`,
      body: current,
      status: 422,
      error: /reason/,
    },
    { query: "target=1.36", body: `${current}${"# ".repeat(2048)}`, status: 413, error: /2048/ },
    { query: "target=1.36", body: "\uFEFFa".replace("\uFEFF", "\u0000"), status: 422, error: /./ },
  ];
  for (const { query, body, status, error } of cases) {
    const response = await fetch(`${url}/api/v1/gate?${query}`, { method: "POST", headers: yaml, body });
    t.equal(response.status, status, query);
    t.equal(response.headers.get("x-fleetscope-verdict"), null);
    t.match(((await response.json()) as { error: string }).error, error, query);
  }
  const media = await fetch(`${url}/api/v1/gate?target=1.36`, {
    method: "POST",
    headers: { "Content-Type": "image/png" },
    body: "x",
  });
  t.equal(media.status, 415);
});

t.test("reads need the token when there is one; probes and the page never do", async (t) => {
  const { url } = await start(t, { "read-token": "correct-horse" });
  const get = (path: string, bearer?: string) =>
    fetch(url + path, { headers: bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` } });
  for (const path of ["/api/v1/registry", "/metrics"]) {
    const refused = await get(path);
    t.equal(refused.status, 401, path);
    t.equal(refused.headers.get("www-authenticate"), "Bearer");
    t.equal((await get(path, "wrong")).status, 401, path);
    t.equal((await get(path, "correct-horse")).status, 200, path);
  }
  for (const path of ["/healthz", "/readyz", "/", "/docs", "/openapi.json"])
    t.equal((await get(path)).status, 200, path);
  const registry = (await (await get("/api/v1/registry", "correct-horse")).json()) as { addons: { id: string }[] };
  t.ok(registry.addons.some(({ id }) => id === "cert-manager"));
  const open = await start(t);
  t.equal((await fetch(`${open.url}/api/v1/registry`)).status, 200);
  const unknown = await fetch(`${open.url}/api/v1/registry`, { headers: { Authorization: "Bearer nothing" } });
  t.equal(unknown.status, 401, "an unknown bearer is refused on an open API too");
});

t.test("every answer carries security headers, and a strange Host is refused before routing", async (t) => {
  const { url } = await start(t);
  const page = await fetch(url);
  t.match(page.headers.get("content-security-policy"), /default-src 'none'.*frame-ancestors 'none'/);
  t.equal(page.headers.get("x-content-type-options"), "nosniff");
  const { request } = await import("node:http");
  const status = await new Promise<number>((resolve, reject) => {
    const sent = request(`${url}/healthz`, { headers: { Host: "evil.example" } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end();
  });
  t.equal(status, 421);
  t.equal((await fetch(`${url}/api/v1/nothing`)).status, 404);
  t.equal((await fetch(`${url}/api/v1/gate`)).status, 405);
});

t.test("the start is refused on a routable address without a credential", async (t) => {
  const problemsOf = (flags: Record<string, unknown>): readonly string[] => {
    try {
      loadHubConfig({ environment: {}, flags, readFile: () => "" });
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    }
  };
  t.match(problemsOf({ listen: ":8080" })[0], /a read token is needed/);
  t.strictSame(problemsOf({ listen: ":8080", "read-token": "x" }), []);
  t.strictSame(problemsOf({ listen: ":8080", "allow-anonymous-read": "true" }), []);
  t.match(problemsOf({ "tls-cert-file": "a" })[0], /both are needed/);
  t.match(problemsOf({ "allowed-host": ["https://x"] })[0], /without scheme/);
});
