// The collectors against a real kube-apiserver with its etcd, over TLS. The executables are named by environment, since
// no package registry ships them: SLIPWAY_TEST_KUBE_APISERVER (1.29 to 1.31, which serve an API that 1.32 removes) and
// SLIPWAY_TEST_ETCD. Without them the test says so and is skipped.
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { collectLiveCluster } from "../../../src/fleet/drivers/kubernetes-cluster.ts";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";

const apiServerPath = process.env["SLIPWAY_TEST_KUBE_APISERVER"] ?? "";
const etcdPath = process.env["SLIPWAY_TEST_ETCD"] ?? "";
const skip =
  existsSync(apiServerPath) && existsSync(etcdPath)
    ? false
    : "SLIPWAY_TEST_KUBE_APISERVER and SLIPWAY_TEST_ETCD name no executables";
const token = "test-token";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface RealServer extends AsyncDisposable {
  readonly kubeconfig: string;
  send(path: string, body: unknown, options?: { method?: string; type?: string }): Promise<number>;
  read(path: string): Promise<string>;
}

async function startRealServer(folder: string): Promise<RealServer> {
  const [clientPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keyPath = join(folder, "sa.key");
  writeFileSync(keyPath, privateKey.export({ type: "pkcs1", format: "pem" }));
  writeFileSync(join(folder, "tokens.csv"), `${token},admin,admin,"system:masters"\n`);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const etcd = spawn(
    etcdPath,
    [
      "--data-dir",
      join(folder, "etcd"),
      "--listen-client-urls",
      etcdUrl,
      "--advertise-client-urls",
      etcdUrl,
      "--listen-peer-urls",
      `http://127.0.0.1:${peerPort}`,
    ],
    { stdio: "ignore" },
  );
  const flags = {
    "etcd-servers": etcdUrl,
    "service-account-issuer": "https://test",
    "service-account-key-file": keyPath,
    "service-account-signing-key-file": keyPath,
    "token-auth-file": join(folder, "tokens.csv"),
    "secure-port": String(port),
    "bind-address": "127.0.0.1",
    "cert-dir": join(folder, "certs"),
    "service-cluster-ip-range": "10.0.0.0/24",
    "authorization-mode": "RBAC",
    "disable-admission-plugins": "ServiceAccount",
  };
  const apiServer = spawn(
    apiServerPath,
    Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
    { stdio: "ignore" },
  );
  const call = (
    path: string,
    options: { method?: string; type?: string; body?: string } = {},
  ): Promise<{ status: number; body: string }> =>
    new Promise((resolve, reject) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": options.type ?? "application/json" };
      const request = httpsRequest(
        { host: "127.0.0.1", port, path, method: options.method ?? "GET", headers, rejectUnauthorized: false },
        (response) => {
          let body = "";
          response.on("data", (chunk) => (body += String(chunk)));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
        },
      );
      request.on("error", reject);
      request.end(options.body);
    });
  for (let attempt = 0; attempt < 120; attempt += 1) {
    const ready = await call("/readyz").catch(() => undefined);
    if (ready?.status === 200) break;
    await sleep(500);
  }
  const ca = readFileSync(join(folder, "certs", "apiserver.crt")).toString("base64");
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      "current-context": "real",
      contexts: [{ name: "real", context: { cluster: "real", user: "real" } }],
      clusters: [{ name: "real", cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority-data": ca } }],
      users: [{ name: "real", user: { token } }],
    }),
  );
  return {
    kubeconfig,
    send: async (path, body, options = {}) =>
      (await call(path, { method: "POST", ...options, body: JSON.stringify(body) })).status,
    read: async (path) => (await call(path)).body,
    [Symbol.asyncDispose]: async () => {
      const ended = [apiServer, etcd].map((child) => new Promise((resolve) => child.once("exit", resolve)));
      apiServer.kill("SIGKILL");
      etcd.kill("SIGKILL");
      await Promise.all(ended);
    },
  };
}

function flowSchema(version: string, name: string): object {
  return {
    apiVersion: `flowcontrol.apiserver.k8s.io/${version}`,
    kind: "FlowSchema",
    metadata: { name },
    spec: { priorityLevelConfiguration: { name: "global-default" } },
  };
}

t.test(
  "a real API server is read: writers, pages, nodes, calls, and the scan leaves no trace of its own",
  { skip, timeout: 180_000 },
  async (t) => {
    const folder = t.testdir();
    await using server = await startRealServer(folder);
    const path = (version: string): string => `/apis/flowcontrol.apiserver.k8s.io/${version}/flowschemas`;
    const statuses = [
      await server.send(`${path("v1beta3")}?fieldManager=terraform`, flowSchema("v1beta3", "updated-old")),
      await server.send(`${path("v1")}?fieldManager=terraform`, flowSchema("v1", "updated-current")),
      await server.send(`${path("v1beta3")}/applied-old?fieldManager=argocd`, flowSchema("v1beta3", "applied-old"), {
        method: "PATCH",
        type: "application/apply-patch+yaml",
      }),
      await server.send("/api/v1/namespaces", { metadata: { name: "shop", labels: { team: "storefront" } } }),
      await server.send("/api/v1/nodes", {
        metadata: { name: "n1" },
        status: { nodeInfo: { kubeletVersion: "v1.28.3", containerRuntimeVersion: "containerd://1.6.1" } },
      }),
    ];
    t.strictSame(statuses, [201, 201, 201, 201, 201]);
    for (let index = 0; index < 1100; index += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, offset) =>
          server.send("/api/v1/namespaces/shop/pods", {
            metadata: { name: `p${index + offset}` },
            spec: {
              containers: [{ name: "c", image: "quay.io/jetstack/cert-manager-controller:v1.11.0" }],
              volumes: [{ name: "v", rbd: { monitors: ["m"], image: "i" } }],
            },
          }),
        ),
      );
    }
    const knowledgeBase = loadEmbeddedKnowledgeBase();
    const { inventory } = await collectLiveCluster({
      kubeconfig: server.kubeconfig,
      context: undefined,
      env: {},
      homeDir: folder,
      signal: new AbortController().signal,
      userAgent: "fleetscope/test",
      knowledgeBase,
      annotationDomain: "fleetscope.dev",
      teamLabel: "team",
      onProgress: () => {},
    });
    t.match(inventory.serverVersion, /^v1\.(29|30|31)\./);
    t.match(inventory.clusterId, /^[0-9a-f-]{36}$/);
    t.strictSame(
      inventory.nodes?.map(({ kubeletVersion }) => kubeletVersion),
      ["v1.28.3"],
    );
    const written = inventory.apiUsage?.find(({ kind, version }) => kind === "FlowSchema" && version === "v1beta3");
    t.strictSame(written?.objects?.map(({ name, manager }) => `${name} by ${manager}`).sort(), [
      "applied-old by argocd",
      "updated-old by terraform",
    ]);
    t.match(inventory.volumePlugins, [{ plugin: "rbd", count: 1100, namespaces: { shop: 1100 } }], "three pages");
    t.strictSame(
      Object.entries(inventory.capabilities)
        .filter(([, { available, partial }]) => !available || partial === true)
        .map(([name]) => name),
      ["component-flags"],
    );
    const called = inventory.deprecatedCalls?.map(({ version, resource }) => `${version} ${resource}`);
    t.ok(called?.includes("v1beta3 flowschemas"), "the writer shows up");
    const before = await server.read("/metrics");
    await collectLiveCluster({
      kubeconfig: server.kubeconfig,
      context: "real",
      env: {},
      homeDir: folder,
      signal: new AbortController().signal,
      userAgent: "fleetscope/test",
      knowledgeBase,
      annotationDomain: "fleetscope.dev",
      teamLabel: "team",
      onProgress: () => {},
    });
    const rows = (text: string): string[] =>
      text.split("\n").filter((line) => line.startsWith("apiserver_requested_deprecated_apis{"));
    t.strictSame(rows(await server.read("/metrics")), rows(before), "the scan calls nothing deprecated");
    t.ok(
      evaluate({ inventory, knowledgeBase, target: "1.32", date: "2026-11-21" }).findings.some(
        ({ key }) => key === "removed-api/flowcontrol.apiserver.k8s.io/v1beta3/FlowSchema",
      ),
    );
  },
);
