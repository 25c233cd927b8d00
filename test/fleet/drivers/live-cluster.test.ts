import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { collectLiveCluster, type LiveCluster } from "../../../src/fleet/drivers/kubernetes-cluster.ts";
import { evaluate } from "../../../src/fleet/model/evaluate.ts";
import {
  type FakeKubernetesOptions,
  type FakeObject,
  type FakeResource,
  startFakeKubernetes,
} from "../../support/fake-kubernetes.ts";

const knowledgeBase = loadEmbeddedKnowledgeBase();

function managed(
  manager: string,
  apiVersion: string,
  options: { operation?: string; time?: string; subresource?: string } = {},
): object {
  return {
    manager,
    operation: options.operation ?? "Update",
    apiVersion,
    time: options.time ?? "2026-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:spec": {} },
    ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
  };
}

function flowSchema(
  name: string,
  managedFields: readonly object[],
  annotations: Record<string, string> = {},
): FakeObject {
  return { metadata: { name, annotations, ...(managedFields.length === 0 ? {} : { managedFields }) }, spec: {} };
}

const old = "flowcontrol.apiserver.k8s.io/v1beta3";
const current = "flowcontrol.apiserver.k8s.io/v1";
const lastApplied = (apiVersion: string): Record<string, string> => ({
  "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({
    apiVersion,
    kind: "FlowSchema",
    spec: { deep: [1, 2, { x: "y" }] },
  }),
});

const flowSchemas: readonly FakeObject[] = [
  flowSchema("applied-old", [managed("argocd", old, { operation: "Apply" })]),
  flowSchema("updated-old", [managed("terraform", old)]),
  flowSchema("moved-on", [
    managed("helm", old, { time: "2025-01-01T00:00:00Z" }),
    managed("helm", current, { time: "2026-01-01T00:00:00Z" }),
  ]),
  flowSchema("went-back", [
    managed("helm", current, { time: "2025-01-01T00:00:00Z" }),
    managed("helm", old, { time: "2026-01-01T00:00:00Z" }),
  ]),
  flowSchema("status-only", [managed("operator", old, { subresource: "status" })]),
  flowSchema("by-the-server", [
    managed("kube-apiserver", old),
    managed("api-priority-and-fairness-config-producer-v1", old, { operation: "Apply" }),
  ]),
  flowSchema("kept-by-server", [managed("kubectl", old, { operation: "Apply" })], {
    "apf.kubernetes.io/autoupdate-spec": "true",
  }),
  flowSchema("stale-annotation", [managed("helm", current)], lastApplied(old)),
  flowSchema("annotation-only", [], lastApplied(old)),
  flowSchema("annotation-current", [], lastApplied(current)),
  flowSchema("no-evidence", []),
  flowSchema("accepted", [managed("helm", old)], {
    "fleetscope.dev/ignore": "removed-api",
    "fleetscope.dev/ignore-reason": "known",
  }),
];

function helmSecret(
  name: string,
  revision: number,
  options: { status?: string; manifest?: string; chart?: object } = {},
): FakeObject {
  const release = {
    name,
    namespace: "shop",
    version: revision,
    info: { status: options.status ?? "deployed" },
    chart: {
      metadata: options.chart ?? {
        name: "web",
        version: `1.0.${revision}`,
        appVersion: "2.0",
        kubeVersion: ">=1.25-0",
      },
    },
    manifest:
      options.manifest ??
      "---\n# Source: web/templates/pdb.yaml\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata:\n  name: web\n",
  };
  const packed = gzipSync(JSON.stringify(release)).toString("base64");
  return {
    metadata: {
      name: `sh.helm.release.v1.${name}.v${revision}`,
      namespace: "shop",
      labels: { owner: "helm", name, version: String(revision), status: options.status ?? "deployed" },
    },
    type: "helm.sh/release.v1",
    data: { release: Buffer.from(packed).toString("base64") },
  };
}

function pod(
  name: string,
  namespace: string,
  options: {
    image?: string;
    owner?: object;
    labels?: Record<string, string>;
    spec?: object;
    phase?: string;
    container?: string;
    command?: string[];
  } = {},
): FakeObject {
  return {
    metadata: {
      name,
      namespace,
      labels: options.labels ?? {},
      ...(options.owner === undefined ? {} : { ownerReferences: [options.owner] }),
    },
    spec: {
      containers: [
        { name: options.container ?? "main", image: options.image ?? "acme/web:1", command: options.command ?? [] },
      ],
      nodeName: "n1",
      ...options.spec,
    },
    status: { phase: options.phase ?? "Running" },
  };
}

const resources: readonly FakeResource[] = [
  {
    group: "",
    version: "v1",
    kind: "Namespace",
    plural: "namespaces",
    namespaced: false,
    items: [
      { metadata: { name: "kube-system", uid: "0a1b" } },
      { metadata: { name: "shop", labels: { team: "storefront" } } },
    ],
  },
  {
    group: "",
    version: "v1",
    kind: "Node",
    plural: "nodes",
    namespaced: false,
    items: [1, 2, 3].map((number) => ({
      metadata: { name: `n${number}`, labels: {} },
      status: {
        nodeInfo: {
          kubeletVersion: "v1.31.1",
          containerRuntimeVersion: "containerd://1.7.27",
          osImage: "Debian",
          kernelVersion: "6.1",
        },
        images: [],
      },
    })),
  },
  {
    group: "",
    version: "v1",
    kind: "Pod",
    plural: "pods",
    items: [
      ...Array.from({ length: 1100 }, (_, index) =>
        pod(`web-7d4b9-${index}`, "shop", {
          labels: { app: "web", "pod-template-hash": "7d4b9" },
          owner: { kind: "ReplicaSet", name: "web-7d4b9", controller: true },
        }),
      ),
      pod("ingress-abc", "ingress", { image: "registry.k8s.io/ingress-nginx/controller:v1.8.1" }),
      pod("disk-0", "db", {
        owner: { kind: "StatefulSet", name: "disk", controller: true },
        spec: { volumes: [{ name: "x", rbd: { image: "i" } }] },
      }),
      pod("disk-1", "db", {
        owner: { kind: "StatefulSet", name: "disk", controller: true },
        spec: { volumes: [{ name: "x", rbd: { image: "i" } }] },
      }),
      pod("done", "db", { phase: "Succeeded", spec: { volumes: [{ name: "x", glusterfs: {} }] } }),
      pod("kube-apiserver-n1", "kube-system", {
        container: "kube-apiserver",
        image: "registry.k8s.io/kube-apiserver:v1.31.1",
        command: ["kube-apiserver", "--feature-gates=CSIMigration=true,Other=false", "--cloud-provider", "aws"],
        owner: { kind: "Node", name: "n1", controller: true },
      }),
    ],
  },
  {
    group: "",
    version: "v1",
    kind: "Service",
    plural: "services",
    items: [{ metadata: { name: "old", namespace: "shop" }, spec: { externalIPs: ["1.2.3.4"] } }],
  },
  {
    group: "",
    version: "v1",
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    namespaced: false,
    items: [{ metadata: { name: "pv" }, spec: { glusterfs: { path: "x" } } }],
  },
  {
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    items: [
      {
        metadata: { name: "kube-proxy", namespace: "kube-system" },
        data: {
          "config.conf": "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: ipvs\n",
        },
      },
    ],
  },
  {
    group: "",
    version: "v1",
    kind: "Secret",
    plural: "secrets",
    items: [
      helmSecret("web", 1, { status: "superseded" }),
      helmSecret("web", 2),
      helmSecret("web", 3, { status: "failed" }),
      { ...helmSecret("broken", 1), data: { release: Buffer.from("AAAA").toString("base64") } },
      { metadata: { name: "password", namespace: "shop" }, data: { secret: "c2VjcmV0" } },
    ],
  },
  {
    group: "",
    version: "v1",
    kind: "Endpoints",
    plural: "endpoints",
    items: [{ metadata: { name: "kubernetes", namespace: "default" } }],
  },
  {
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1",
    kind: "FlowSchema",
    plural: "flowschemas",
    namespaced: false,
    items: flowSchemas,
  },
  {
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1beta3",
    kind: "FlowSchema",
    plural: "flowschemas",
    namespaced: false,
    items: flowSchemas,
  },
  {
    group: "storage.k8s.io",
    version: "v1",
    kind: "StorageClass",
    plural: "storageclasses",
    namespaced: false,
    items: [{ metadata: { name: "ebs" }, provisioner: "kubernetes.io/aws-ebs" }],
  },
  {
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    items: [
      {
        metadata: { name: "web", namespace: "shop" },
        spec: { maxUnavailable: 0, selector: { matchLabels: { app: "web" } } },
        status: { disruptionsAllowed: 0, expectedPods: 1100, currentHealthy: 1100, desiredHealthy: 1100 },
      },
      {
        metadata: { name: "all", namespace: "shop" },
        spec: { minAvailable: 1, selector: { matchLabels: {} } },
        status: { disruptionsAllowed: 1099, expectedPods: 1100 },
      },
    ],
  },
  {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    namespaced: false,
    items: [
      {
        metadata: { name: "guard" },
        webhooks: [
          {
            name: "a.guard",
            failurePolicy: "Fail",
            clientConfig: { service: { namespace: "shop", name: "guard" } },
            rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
            namespaceSelector: {},
            timeoutSeconds: 5,
          },
        ],
      },
    ],
  },
  {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    namespaced: false,
    items: [],
  },
  {
    group: "discovery.k8s.io",
    version: "v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    items: [
      {
        metadata: { name: "guard-1", namespace: "shop", labels: { "kubernetes.io/service-name": "guard" } },
        endpoints: [{ conditions: { ready: false } }],
      },
    ],
  },
  {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
    items: [
      {
        metadata: { name: "things.example.com" },
        spec: {
          group: "example.com",
          names: { kind: "Thing", plural: "things" },
          versions: [
            { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: {} } },
            { name: "v1beta1", served: true, storage: false, deprecated: true },
          ],
        },
        status: { storedVersions: ["v1", "v1beta1"] },
      },
    ],
  },
  {
    group: "example.com",
    version: "v1",
    kind: "Thing",
    plural: "things",
    items: [
      {
        metadata: {
          name: "a",
          namespace: "shop",
          managedFields: [managed("flux", "example.com/v1beta1", { operation: "Apply" })],
        },
      },
      {
        metadata: {
          name: "b",
          namespace: "shop",
          managedFields: [managed("flux", "example.com/v1", { operation: "Apply" })],
        },
      },
    ],
  },
  {
    group: "apiregistration.k8s.io",
    version: "v1",
    kind: "APIService",
    plural: "apiservices",
    namespaced: false,
    items: [
      {
        metadata: { name: "v1beta1.metrics.k8s.io" },
        spec: { service: { name: "metrics", namespace: "kube-system" } },
        status: {
          conditions: [{ type: "Available", status: "False", reason: "MissingEndpoints", message: "no endpoints" }],
        },
      },
      { metadata: { name: "v1.apps" }, spec: {}, status: { conditions: [{ type: "Available", status: "True" }] } },
    ],
  },
];

const metrics = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="batch",removed_release="1.25",resource="cronjobs",subresource="status",version="v1beta1"} 0
apiserver_request_total{code="200"} 7
process_start_time_seconds 1.7e+09
`;

async function collect(options: Partial<FakeKubernetesOptions> & { context?: string; token?: string } = {}): Promise<
  LiveCluster & {
    requests: readonly { method: string; path: string; query: URLSearchParams; headers: Record<string, unknown> }[];
  }
> {
  await using server = await startFakeKubernetes({ gitVersion: "v1.31.1", resources, metrics, ...options });
  const folder = mkdtempSync(join(t.testdir(), "kube-"));
  const kubeconfig = join(folder, "config");
  writeFileSync(kubeconfig, server.kubeconfig);
  const cluster = await collectLiveCluster({
    kubeconfig,
    context: options.context,
    env: {},
    homeDir: folder,
    signal: new AbortController().signal,
    userAgent: "fleetscope/test",
    knowledgeBase,
    annotationDomain: "fleetscope.dev",
    teamLabel: "team",
    onProgress: () => {},
  });
  return { ...cluster, requests: [...server.requests] };
}

t.test("a cluster is read whole, by GET and list alone", async (t) => {
  const { inventory, name, requests } = await collect({ token: "s3cret" });
  t.equal(name, "fake");
  t.equal(inventory.clusterId, "0a1b");
  t.equal(inventory.serverVersion, "v1.31.1");
  t.equal(inventory.provider, "other");
  t.strictSame(inventory.namespaces, [{ name: "kube-system" }, { name: "shop", team: "storefront" }]);
  t.equal(inventory.nodes?.length, 3);
  t.strictSame(inventory.nodes?.[0], {
    name: "n1",
    kubeletVersion: "v1.31.1",
    containerRuntime: "containerd://1.7.27",
    osImage: "Debian",
    kernelVersion: "6.1",
  });
  t.ok(
    requests.every(({ method }) => method === "GET"),
    "nothing is written",
  );
  t.ok(
    requests.every(({ query }) => !query.has("watch")),
    "nothing is watched",
  );
  t.ok(requests.every(({ headers }) => headers["user-agent"] === "fleetscope/test"));
  t.equal(requests.filter(({ path }) => path === "/api/v1/pods").length, 3, "1,105 pods come in three pages");
  t.notOk(
    requests.some(({ path }) => path === "/api/v1/endpoints"),
    "Endpoints would feed the metric of deprecated calls",
  );
  const secrets = requests.filter(({ path }) => path === "/api/v1/secrets");
  t.strictSame(
    secrets.map(({ query, headers }) => [
      query.get("labelSelector"),
      String(headers["accept"]).startsWith("application/json;as=PartialObjectMetadataList"),
    ]),
    [["owner=helm", true]],
    "secrets are listed by label and without their data",
  );
  t.notMatch(JSON.stringify(inventory), /c2VjcmV0|s3cret|password/, "no secret is sent on");
});

t.test("who writes an object decides", async (t) => {
  const { inventory, requests } = await collect();
  const written = inventory.apiUsage?.find(({ version, kind }) => version === "v1beta3" && kind === "FlowSchema");
  t.strictSame(
    written?.objects?.map(({ name, manager }) => [name, manager]),
    [
      ["applied-old", "argocd"],
      ["updated-old", "terraform"],
      ["went-back", "helm"],
      ["annotation-only", "kubectl-client-side-apply"],
      ["accepted", "helm"],
    ],
  );
  t.equal(written?.objects?.at(-1)?.ignore, "removed-api");
  t.strictSame(
    inventory.apiAuthorshipUnknown?.map(({ kind, objects }) => [kind, objects?.map(({ name }) => name)]),
    [["FlowSchema", ["no-evidence"]]],
  );
  const lists = requests.filter(({ path }) => path.endsWith("/flowschemas"));
  t.strictSame(
    lists.map(({ path }) => path),
    ["/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"],
    "listed once, at the version that is not deprecated",
  );
  t.match(String(lists[0]?.headers["accept"]), /^application\/json;as=PartialObjectMetadataList/);
});

t.test(
  "a kind served at a deprecated version only is listed there, and the metric is told to be partial",
  async (t) => {
    const { inventory } = await collect({
      resources: resources.filter(({ group, version }) => group !== "flowcontrol.apiserver.k8s.io" || version !== "v1"),
    });
    t.ok(inventory.apiUsage?.some(({ version, kind }) => version === "v1beta3" && kind === "FlowSchema"));
    t.strictSame(inventory.capabilities["deprecated-calls"]?.skipped, [
      "flowcontrol.apiserver.k8s.io/v1beta3 flowschemas",
    ]);
    t.equal(inventory.capabilities["deprecated-calls"]?.partial, true);
  },
);

t.test("add-ons, volumes, flags, budgets, webhooks, CRDs, releases and calls are told", async (t) => {
  const { inventory } = await collect();
  t.strictSame(inventory.addOns, [{ id: "ingress-nginx", version: "1.8.1", source: "image", namespaces: ["ingress"] }]);
  t.strictSame(
    inventory.volumePlugins?.map(({ plugin, provisioner, objects, count }) => [
      plugin,
      provisioner,
      count,
      objects?.map(({ name }) => name),
    ]),
    [
      ["rbd", false, 1, ["disk"]],
      ["glusterfs", false, 1, ["pv"]],
      ["awsElasticBlockStore", true, 1, ["ebs"]],
    ],
    "pods are shown by their workload; those that have ended are not counted",
  );
  t.strictSame(inventory.fieldUsage?.map(({ field }) => field).sort(), ["kube-proxy-ipvs", "service-externalips"]);
  t.strictSame(inventory.controlPlane, [{ component: "kube-apiserver", version: "v1.31.1", node: "n1" }]);
  t.strictSame(inventory.componentFlags, [
    {
      component: "kube-apiserver",
      node: "n1",
      flags: { "--cloud-provider": "aws" },
      featureGates: { CSIMigration: "true", Other: "false" },
    },
  ]);
  t.strictSame(
    inventory.disruption?.map(({ name, disruptionsAllowed, overlaps }) => [name, disruptionsAllowed, overlaps]),
    [
      ["web", 0, ["all"]],
      ["all", 1099, ["web"]],
    ],
  );
  t.match(inventory.webhooks, [
    {
      kind: "Validating",
      name: "guard",
      service: "shop/guard",
      readyEndpoints: 0,
      matchesAll: true,
      failurePolicy: "Fail",
      timeoutSeconds: 5,
    },
  ]);
  t.match(inventory.crds, [
    {
      group: "example.com",
      storedVersions: ["v1", "v1beta1"],
      usage: [{ version: "v1beta1", count: 1, objects: [{ name: "a", manager: "flux" }] }],
    },
  ]);
  t.strictSame(inventory.apiServices, [{ name: "v1beta1.metrics.k8s.io", available: false, reason: "no endpoints" }]);
  t.strictSame(inventory.deprecatedCalls, [
    { group: "flowcontrol.apiserver.k8s.io", version: "v1beta3", resource: "flowschemas", removedRelease: "1.32" },
    { group: "", version: "v1", resource: "componentstatuses" },
  ]);
  t.equal(inventory.apiServerStartTime, "2023-11-14T22:13:20Z");
  t.match(inventory.helmReleases, [
    {
      name: "web",
      namespace: "shop",
      revision: 2,
      chartName: "web",
      chartVersion: "1.0.2",
      kubeVersion: ">=1.25-0",
      manifestApis: [{ group: "policy", version: "v1beta1", kind: "PodDisruptionBudget" }],
    },
  ]);
  t.strictSame(inventory.capabilities["helm"], {
    available: true,
    reason: "a stored record cannot be read",
    partial: true,
    skipped: ["shop/broken"],
  });
  const report = evaluate({ inventory, knowledgeBase, target: "1.32", date: "2026-11-21" });
  const keys = report.findings.map(({ key }) => key);
  for (const key of [
    "removed-api/flowcontrol.apiserver.k8s.io/v1beta3/FlowSchema",
    "webhook/no-endpoints/Validating/guard",
    "drain/pdb-zero/shop/web",
    "drain/pdb-overlap/shop",
    "crd-version/deprecated/example.com/v1beta1/Thing",
    "apiservice/unavailable/v1beta1.metrics.k8s.io",
  ]) {
    t.ok(keys.includes(key), key);
  }
});

t.test("a list token that expires begins the list anew once, then the list is partial", async (t) => {
  const once = await collect({ expiredTokens: 1 });
  t.equal(once.inventory.capabilities["addons"]?.partial, undefined);
  t.strictSame(
    once.inventory.volumePlugins?.find(({ plugin }) => plugin === "rbd")?.count,
    1,
    "nothing is counted twice",
  );
  const twice = await collect({ expiredTokens: 2 });
  t.strictSame(twice.inventory.capabilities["addons"], {
    available: true,
    reason: "the list changed faster than it could be read",
    partial: true,
    skipped: ["v1 pods"],
  });
});

t.test("what may not be read is said, and the verdict follows", async (t) => {
  const refused = {
    "/api/v1/pods": 403,
    "/api/v1/secrets": 403,
    "/metrics": 403,
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": 403,
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": 403,
    "/api/v1/nodes": 403,
  };
  const { inventory } = await collect({ refused });
  const { capabilities } = inventory;
  t.match(capabilities, {
    addons: { available: false, reason: /^reading it is not allowed: .*forbidden/ },
    helm: { available: false },
    "deprecated-calls": { available: false },
    crds: { available: false },
    "api-usage": { available: true, partial: true, skipped: ["flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema"] },
    versions: { available: true, partial: true, skipped: ["nodes"] },
    "component-flags": { available: false },
  });
  const report = evaluate({ inventory, knowledgeBase, target: "1.32", date: "2026-11-21" });
  t.not(report.verdict, "ready");
  t.ok(
    report.notAssessed
      .filter(({ required }) => required)
      .map(({ capability }) => capability)
      .includes("api-usage"),
  );
});

t.test("a cluster that cannot be reached is an error with its reason", async (t) => {
  await t.rejects(collect({ context: "nowhere" }), {
    code: "cluster_unreachable",
    message: /Cannot read the cluster "nowhere": nothing listens at its address/,
  });
  await t.rejects(collect({ context: "other" }), {
    code: "kubeconfig_invalid",
    message: /has no context "other"; there are fake, nowhere/,
  });
  await t.rejects(collect({ refused: { "/version": 401 } }), {
    code: "cluster_unreachable",
    message: /the credentials were refused/,
  });
});

t.test("provider and managed control plane are recognized by the version", async (t) => {
  const { inventory } = await collect({ gitVersion: "v1.31.4-eks-7f9249a" });
  t.equal(inventory.provider, "eks");
});
