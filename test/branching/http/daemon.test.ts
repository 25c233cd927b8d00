import t from "tap";
import { loadDaemonConfig } from "../../../src/branching/daemon-config.ts";
import { createDaemonApp } from "../../../src/branching/http/daemon-app.ts";
import { ConfigError } from "../../../src/platform/config/load-config.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { FakeWorld } from "../../support/branching/fake-world.ts";

const token = "0123456789abcdef";

async function createDaemon(settings: ConstructorParameters<typeof Object>[0] = {}) {
  const world = await FakeWorld.create({ settings: settings as object });
  const app = createDaemonApp({
    engine: world.engine,
    caller: () => ({ actor: "root (admin)", signal: new AbortController().signal }),
    routerFields: () => ({ proxy_host: "db.example", proxy_port: 6432 }),
    token,
    version: "0.0.0-test",
    logger: silentLogger,
    metrics: createMetrics(),
    clock: systemClock,
    random: systemRandom,
    tracer: undefined,
  });
  const request = async (method: string, path: string, body?: unknown, bearer: string | undefined = token) => {
    const response = await app.request(path, {
      method,
      headers: {
        ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
  };
  return { world, app, request };
}

t.test("sources and branches live their lives over /v1", async (t) => {
  const { request } = await createDaemon();
  const source = await request("POST", "/v1/sources", {
    name: "shop",
    host: "db",
    pg_version: "17",
    password: "hunter2",
  });
  t.equal(source.status, 201);
  t.strictSame(Object.keys(source.json()), [
    ...["name", "pg_version", "host", "port", "user", "database", "via", "state", "generation", "created_at"],
  ]);
  t.match(source.json(), { name: "shop", state: "ready", generation: 1, pg_version: "17" });
  t.notMatch(source.text, "hunter2");
  t.equal((await request("GET", "/v1/sources")).json().length, 1);

  const branch = await request("POST", "/v1/branches", { name: "pr-7", source: "shop", ttl_seconds: 3600 });
  t.equal(branch.status, 201, branch.text);
  t.strictSame(Object.keys(branch.json()), [
    ...["name", "source", "state", "host", "port", "user", "database", "proxy_database", "expires_at", "created_at"],
    ...["proxy_host", "proxy_port"],
  ]);
  t.match(branch.json(), { state: "ready", proxy_database: "postgres@pr-7", proxy_host: "db.example" });
  t.equal((await request("POST", "/v1/branches", { name: "child", parent: "pr-7" })).json().parent, "pr-7");
  t.equal((await request("GET", "/v1/branches")).json().length, 2);
  t.equal((await request("GET", "/v1/branches/pr-7")).json().name, "pr-7");
  t.equal((await request("POST", "/v1/branches/pr-7/reset")).status, 200);
  const history = (await request("GET", "/v1/branches/pr-7/history")).json();
  t.strictSame(Object.keys(history[0]), ["from_state", "to_state", "reason", "actor", "at"]);
  t.equal(history[0].actor, "root (admin)");
  t.strictSame((await request("GET", "/v1/reconcile/plan")).json(), { actions: null });
  t.strictSame(Object.keys((await request("POST", "/v1/reconcile")).json()), ["actions"]);

  t.equal((await request("DELETE", "/v1/sources/shop")).status, 409, "it has live branches");
  for (const name of ["child", "pr-7"]) t.equal((await request("DELETE", `/v1/branches/${name}`)).status, 204);
  t.equal((await request("GET", "/v1/branches/pr-7")).status, 404);
  t.equal((await request("GET", "/v1/branches/pr-7/history")).status, 200, "history remains");
  t.equal((await request("DELETE", "/v1/sources/shop")).status, 204);
});

t.test("masks are set, read and cleared", async (t) => {
  const { request } = await createDaemon();
  await request("POST", "/v1/sources", { name: "shop", host: "db" });
  const scripts = [{ name: "emails", sql: "UPDATE users SET email = 'x'" }];
  t.strictSame((await request("PUT", "/v1/sources/shop/mask", scripts)).json(), scripts);
  t.strictSame((await request("GET", "/v1/sources/shop/mask")).json(), scripts);
  t.strictSame((await request("PUT", "/v1/sources/shop/mask", [])).json(), []);
  t.equal((await request("PUT", "/v1/sources/shop/mask", [{ name: "x", sql: " " }])).status, 400);
});

t.test("refusals carry the status of the contract and a text that says why", async (t) => {
  const { request } = await createDaemon({ maxBranches: 1 });
  await request("POST", "/v1/sources", { name: "shop", host: "db" });
  t.equal((await request("POST", "/v1/branches", { name: "one", source: "shop" })).status, 201);
  const cases = [
    {
      method: "POST",
      path: "/v1/branches",
      body: { name: "two", source: "shop" },
      status: 403,
      error: /the limit is 1/,
    },
    { method: "POST", path: "/v1/branches", body: { name: "One!", source: "shop" }, status: 400, error: /lowercase/ },
    {
      method: "POST",
      path: "/v1/branches",
      body: { name: "x" },
      status: 400,
      error: /exactly one of source and parent/,
    },
    { method: "POST", path: "/v1/branches", body: { name: "x", source: "nope" }, status: 404, error: /nope/ },
    {
      method: "POST",
      path: "/v1/branches",
      body: { name: "x", source: "shop", colour: 1 },
      status: 400,
      error: /colour/,
    },
    { method: "POST", path: "/v1/branches", body: '{"name": "x"', status: 400, error: /JSON/ },
    { method: "POST", path: "/v1/branches", body: '{"name":"x","source":"shop"} more', status: 400, error: /JSON/ },
    { method: "POST", path: "/v1/sources", body: { name: "shop", host: "db" }, status: 409, error: /shop/ },
    {
      method: "POST",
      path: "/v1/sources",
      body: { name: "old", host: "db", pg_version: "13" },
      status: 400,
      error: /14/,
    },
    { method: "POST", path: "/v1/branches/one/recover", body: undefined, status: 409, error: /one/ },
    { method: "POST", path: "/v1/branches/nope/reset", body: undefined, status: 404, error: /nope/ },
    { method: "GET", path: "/v1/branches/one/diff?data=501", body: undefined, status: 400, error: /data/ },
    { method: "POST", path: "/v1/sources", body: `{"name":"${"x".repeat(1024 * 1024)}"}`, status: 413, error: /./ },
    { method: "GET", path: "/v1/nothing", body: undefined, status: 404, error: /./ },
  ];
  for (const { method, path, body, status, error } of cases) {
    const answer = await request(method, path, body);
    t.equal(answer.status, status, `${method} ${path} ${answer.text.slice(0, 200)}`);
    t.strictSame(Object.keys(answer.json()), ["error"]);
    t.match(answer.json().error, error, path);
  }
  const taken = await request("POST", "/v1/sources", { name: "two", host: "db" });
  t.equal(taken.status, 201);
});

t.test("every /v1 route needs the token; probes, metrics and the page do not", async (t) => {
  const { request, app } = await createDaemon();
  for (const path of ["/v1/sources", "/v1/branches", "/v1/reconcile/plan", "/v1/nothing"]) {
    for (const bearer of ["", "wrong", `${token}x`]) {
      const answer = await request("GET", path, undefined, bearer);
      t.equal(answer.status, 401, `${path} ${bearer}`);
    }
  }
  const none = await app.request("/v1/sources");
  t.equal(none.status, 401);
  t.equal(none.headers.get("www-authenticate"), "Bearer");
  for (const path of ["/healthz", "/readyz", "/metrics", "/ui/", "/docs", "/openapi.json"]) {
    t.equal((await app.request(path)).status, 200, path);
  }
  const page = await app.request("/ui/");
  t.match(page.headers.get("content-security-policy"), /default-src 'none'.*frame-ancestors 'none'/);
  t.notMatch(await page.text(), token);
});

t.test("loadDaemonConfig() wants a token of 16 characters and pairs of certificate and key", async (t) => {
  const problemsOf = (environment: Record<string, string>, flags: Record<string, unknown> = {}): readonly string[] => {
    try {
      loadDaemonConfig({ environment, flags, readFile: () => "" });
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    }
  };
  t.match(problemsOf({})[0], /BRANCHSVC_TOKEN is required/);
  const short = problemsOf({ BRANCHSVC_TOKEN: "123456789012345" });
  t.match(short[0], /at least 16 characters, not 15/);
  t.notMatch(short[0], "123456789012345");
  t.strictSame(problemsOf({ BRANCHSVC_TOKEN: token }), []);
  t.match(problemsOf({ BRANCHSVC_TOKEN: token }, { "pg-tls-cert": "a" })[0], /both are needed/);
  t.match(problemsOf({ BRANCHSVC_TOKEN: token, BRANCHSVC_TOKN: "x" })[0], /did you mean BRANCHSVC_TOKEN/);
});
