import t from "tap";
import type { Inventory } from "../../../src/fleet/model/inventory.ts";
import { inventoryOf } from "../../support/fleet-manifests.ts";

function workload(pod: string, options: { kind?: string; name?: string; labels?: string } = {}): string {
  const { kind = "Deployment", name = "w", labels = "{}" } = options;
  return `apiVersion: apps/v1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: shop, labels: ${labels}}\nspec:\n  replicas: 2\n  template:\n    metadata: {labels: {app: ${name}}}\n    spec: ${pod}\n`;
}
const image = (name: string): string => `{containers: [{name: c, image: "${name}"}]}`;
const nginx = "registry.k8s.io/ingress-nginx/controller:v1.8.1";

const cases: readonly {
  readonly name: string;
  readonly manifests: string;
  readonly pick: (inventory: Inventory) => unknown;
  readonly expected: unknown;
}[] = [
  {
    name: "APIs are counted by namespace, with their objects",
    manifests: `${workload("{}")}---\n${workload("{}", { name: "x" })}---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n`,
    pick: ({ apiUsage }) =>
      apiUsage?.map(({ group, version, kind, count, namespaces, objects }) => [
        group,
        version,
        kind,
        count,
        namespaces,
        objects?.map(({ name, line }) => [name, line]),
      ]),
    expected: [
      [
        "apps",
        "v1",
        "Deployment",
        2,
        { shop: 2 },
        [
          ["w", 1],
          ["x", 10],
        ],
      ],
      ["", "v1", "Namespace", 1, { "": 1 }, [["shop", 19]]],
    ],
  },
  {
    name: "add-ons by image, whatever the registry, of init containers too",
    manifests: `${workload(image(nginx))}---\n${workload(`{initContainers: [{name: i, image: "mirror.example.com/x/jetstack/cert-manager-controller:v1.14.2"}], containers: []}`, { name: "i" })}`,
    pick: ({ addOns }) =>
      addOns?.map(({ id, version, source, namespaces, objects }) => [id, version, source, namespaces, objects?.length]),
    expected: [
      ["ingress-nginx", "1.8.1", "image", ["shop"], 1],
      ["cert-manager", "1.14.2", "image", ["shop"], 1],
    ],
  },
  {
    name: "add-ons by label where the image is unknown, and only for workloads",
    manifests: `${workload(image("internal/build/cm:1"), { labels: "{app.kubernetes.io/name: cert-manager, app.kubernetes.io/version: v1.14.2, helm.sh/chart: cert-manager-v1.14.2}" })}---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: shop, labels: {app.kubernetes.io/name: cert-manager}}\n`,
    pick: ({ addOns }) => addOns,
    expected: [
      {
        id: "cert-manager",
        version: "1.14.2",
        source: "labels",
        chartVersion: "1.14.2",
        namespaces: ["shop"],
        objects: [{ namespace: "shop", name: "w", file: "a.yaml", line: 1 }],
      },
    ],
  },
  {
    name: "a name that only looks like an add-on is none (spoofing)",
    manifests: workload(image("evil.example.com/not-ingress-nginx/controller:v1.8.1")),
    pick: ({ addOns, unrecognizedImages }) => [addOns, unrecognizedImages],
    expected: [[], ["evil.example.com/not-ingress-nginx/controller"]],
  },
  {
    name: "frozen registries, once for each object",
    manifests: workload(
      `{containers: [{name: a, image: k8s.gcr.io/pause:3.6}, {name: b, image: "k8s.gcr.io/coredns:1"}]}`,
    ),
    pick: ({ registries }) => registries?.map(({ registry, count }) => [registry, count]),
    expected: [["k8s.gcr.io", 1]],
  },
  {
    name: "volume plugins of pods, volumes and storage classes",
    manifests: `${workload("{containers: [], volumes: [{name: a, rbd: {image: x}}, {name: b, emptyDir: {}}, {name: c, gitRepo: {repository: r}}]}")}---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {glusterfs: {path: x}, capacity: {storage: 1Gi}}\n---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: sc}\nprovisioner: kubernetes.io/aws-ebs\n---\napiVersion: example.com/v1\nkind: PersistentVolume\nmetadata: {name: other}\nspec: {rbd: {}}\n`,
    pick: ({ volumePlugins }) =>
      volumePlugins?.map(({ plugin, provisioner, objects }) => [plugin, provisioner, objects?.map(({ name }) => name)]),
    expected: [
      ["rbd", false, ["w"]],
      ["gitRepo", false, ["w"]],
      ["glusterfs", false, ["pv"]],
      ["awsElasticBlockStore", true, ["sc"]],
    ],
  },
  {
    name: "pods that ask for the old label of control planes; a toleration asks for nothing",
    manifests: [
      workload("{nodeSelector: {node-role.kubernetes.io/master: ''}, containers: []}", { name: "a" }),
      workload(
        "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: node-role.kubernetes.io/master, operator: Exists}]}]}}}, containers: []}",
        { name: "b" },
      ),
      workload(
        "{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: node-role.kubernetes.io/master, operator: Exists}]}}]}}, containers: []}",
        { name: "c" },
      ),
      workload("{tolerations: [{key: node-role.kubernetes.io/master}], containers: []}", { name: "d" }),
    ].join("---\n"),
    pick: ({ fieldUsage }) => fieldUsage?.map(({ field, objects }) => [field, objects?.map(({ name }) => name)]),
    expected: [["node-role-master", ["a", "b", "c"]]],
  },
  {
    name: "flags of a posted control plane, of its own pods in its own namespace only",
    manifests: `apiVersion: v1\nkind: Pod\nmetadata: {name: kube-apiserver, namespace: kube-system}\nspec:\n  containers:\n  - name: kube-apiserver\n    image: registry.k8s.io/kube-apiserver:v1.31.0\n    command: [kube-apiserver, --feature-gates=A=true, --cloud-provider, aws, --profiling]\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: fake, namespace: shop}\nspec:\n  containers:\n  - {name: kube-apiserver, command: [kube-apiserver, --x=y]}\n`,
    pick: ({ componentFlags }) =>
      componentFlags?.map(({ component, flags, featureGates }) => [component, flags, featureGates]),
    expected: [["kube-apiserver", { "--cloud-provider": "aws", "--profiling": "true" }, { A: "true" }]],
  },
  {
    name: "kubeadm and kube-proxy configuration, as files and inside their ConfigMaps",
    manifests: `apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\napiServer: {extraArgs: {feature-gates: "A=false,B=true", x: y}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubeadm-config, namespace: kube-system}\ndata:\n  ClusterConfiguration: |\n    apiVersion: kubeadm.k8s.io/v1beta4\n    kind: ClusterConfiguration\n    scheduler: {extraArgs: [{name: z, value: "1"}]}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-proxy, namespace: kube-system}\ndata:\n  config.conf: |-\n    apiVersion: kubeproxy.config.k8s.io/v1alpha1\n    kind: KubeProxyConfiguration\n    mode: "ipvs"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-proxy, namespace: other}\ndata: {config.conf: "mode: ipvs"}\n`,
    pick: ({ componentFlags, componentConfigs, fieldUsage }) => [
      componentFlags?.map(({ component, flags, featureGates }) => [component, flags, featureGates]),
      componentConfigs?.map(({ group, version, namespace, name }) => [group, version, namespace, name]),
      fieldUsage?.map(({ field, objects }) => [field, objects?.map(({ namespace }) => namespace)]),
    ],
    expected: [
      [
        ["kube-apiserver", { "--x": "y" }, { A: "false", B: "true" }],
        ["kube-scheduler", { "--z": "1" }, {}],
      ],
      [
        ["kubeadm.k8s.io", "v1beta4", "kube-system", "kubeadm-config"],
        ["kubeproxy.config.k8s.io", "v1alpha1", "kube-system", "kube-proxy"],
      ],
      [["kube-proxy-ipvs", ["kube-system"]]],
    ],
  },
  {
    name: "scheduler plugins",
    manifests:
      "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n    filter: {enabled: [{name: NodeLabel}], disabled: [{name: '*'}]}\n    score: {enabled: [{name: ServiceAffinity}]}\n",
    pick: ({ componentConfigs }) => componentConfigs?.map(({ plugins }) => plugins),
    expected: [["NodeLabel", "ServiceAffinity"]],
  },
  {
    name: "budgets that can never let a pod go, for the replicas of their workloads",
    manifests: [
      ...[
        "{maxUnavailable: 0, selector: {matchLabels: {app: none}}}",
        "{minAvailable: 2, selector: {matchLabels: {app: w}}}",
        "{minAvailable: 50%, selector: {matchLabels: {app: w}}}",
        "{minAvailable: 1, selector: {matchLabels: {app: none}}}",
        "{maxUnavailable: 0}",
      ].map(
        (spec, index) =>
          `apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b${index}, namespace: shop}\nspec: ${spec}\n`,
      ),
      workload("{containers: []}"),
    ].join("---\n"),
    pick: ({ disruption }) =>
      disruption?.map(({ name, expectedPods, disruptionsAllowed, overlaps }) => [
        name,
        expectedPods,
        disruptionsAllowed,
        overlaps,
      ]),
    expected: [
      ["b0", 1, 0, undefined],
      ["b1", 2, 0, ["b2"]],
      ["b2", 2, 1, ["b1"]],
    ],
  },
  {
    name: "an empty selector selects all in v1 and nothing in v1beta1",
    manifests: `${["v1", "v1beta1"].map((version) => `apiVersion: policy/${version}\nkind: PodDisruptionBudget\nmetadata: {name: ${version}, namespace: shop}\nspec: {minAvailable: 100%, selector: {}}\n`).join("---\n")}---\n${workload("{containers: []}")}`,
    pick: ({ disruption }) =>
      disruption?.map(({ name, expectedPods, disruptionsAllowed }) => [name, expectedPods, disruptionsAllowed]),
    expected: [["v1", 2, 0]],
  },
  {
    name: "webhooks with the defaults of their version; a selector narrows",
    manifests: ["v1", "v1beta1"]
      .map(
        (version) =>
          `apiVersion: admissionregistration.k8s.io/${version}\nkind: MutatingWebhookConfiguration\nmetadata: {name: ${version}}\nwebhooks:\n- name: a\n  clientConfig: {service: {namespace: n, name: s}}\n  rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]\n- name: b\n  clientConfig: {url: "https://x"}\n  namespaceSelector: {matchLabels: {a: b}}\n  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods]}]\n`,
      )
      .join("---\n"),
    pick: ({ webhooks }) =>
      webhooks?.map(({ name, webhook, failurePolicy, matchPolicy, matchesAll, service, rules }) => [
        name,
        webhook,
        failurePolicy,
        matchPolicy,
        matchesAll,
        service,
        rules,
      ]),
    expected: [
      ["v1", "a", "Fail", "Equivalent", true, "n/s", ["*/*/*"]],
      ["v1", "b", "Fail", "Equivalent", false, undefined, ["/v1/pods"]],
      ["v1beta1", "a", "Ignore", "Exact", true, "n/s", ["*/*/*"]],
      ["v1beta1", "b", "Ignore", "Exact", false, undefined, ["/v1/pods"]],
    ],
  },
  {
    name: "CRDs of both versions, the last of a name",
    manifests: `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.x.io}\nspec: {group: x.io, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true}, {name: v0, served: false, storage: false}], conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: n, name: s}}}}}\n---\napiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: bs.x.io}\nspec: {group: x.io, version: v1beta1, names: {kind: B, plural: bs}}\n`,
    pick: ({ crds, webhooks }) => [
      crds?.map(({ kind, versions }) => [kind, versions.map(({ name, served }) => `${name} ${served}`)]),
      webhooks?.map(({ kind, name, service }) => [kind, name, service]),
    ],
    expected: [
      [
        ["A", ["v1 true", "v0 false"]],
        ["B", ["v1beta1 true"]],
      ],
      [["Conversion", "as.x.io", "n/s"]],
    ],
  },
  {
    name: "charts of GitOps tools; versions keep their zeros",
    manifests: `apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\nspec: {source: {repoURL: "https://r", chart: ingress-nginx, targetRevision: 4.10}, destination: {namespace: ingress}}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: git, namespace: argocd}\nspec: {source: {repoURL: "https://g", path: x}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: f, namespace: flux}\nspec: {chart: {spec: {chart: ./charts/cert-manager, version: 1.20}}, targetNamespace: cm}\n---\napiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: k, namespace: kube-system}\nspec: {chart: traefik, version: "1.0"}\n`,
    pick: ({ gitopsCharts }) =>
      gitopsCharts?.map(({ tool, name, chart, version, target }) => [tool, name, chart, version, target]),
    expected: [
      ["argocd", "a", "ingress-nginx", "4.10", "ingress"],
      ["flux", "f", "cert-manager", "1.20", "cm"],
      ["k3s", "k", "traefik", "1.0", undefined],
    ],
  },
  {
    name: "services with external addresses; an empty list is none",
    manifests:
      "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: n}\nspec: {externalIPs: [1.2.3.4]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b, namespace: n}\nspec: {externalIPs: []}\n",
    pick: ({ fieldUsage }) => fieldUsage?.map(({ field, count }) => [field, count]),
    expected: [["service-externalips", 1]],
  },
  {
    name: "an ingress class tells its controller when no image does",
    manifests:
      "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\nspec: {controller: k8s.io/ingress-nginx}\n",
    pick: ({ addOns }) => addOns?.map(({ id, version, source }) => [id, version, source]),
    expected: [["ingress-nginx", "", "ingressclass"]],
  },
];

t.test("what manifests tell goes into the inventory", async (t) => {
  for (const { name, manifests, pick, expected } of cases) t.strictSame(pick(inventoryOf(manifests)), expected, name);
});

t.test("what manifests cannot tell is named", async (t) => {
  const { capabilities, source } = inventoryOf("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n");
  t.equal(source, "manifest");
  t.strictSame(
    Object.entries(capabilities).map(([name, { available }]) => [name, available]),
    [
      ["api-usage", true],
      ["versions", false],
      ["deprecated-calls", false],
      ["helm", false],
    ],
  );
});

t.test("many images are counted beyond what is listed", async (t) => {
  const manifests = Array.from({ length: 205 }, (_, index) =>
    workload(image(`acme/app-${String(index).padStart(3, "0")}:1`), { name: `w${index}` }),
  ).join("---\n");
  const { unrecognizedImages, unrecognizedImagesOmitted } = inventoryOf(manifests);
  t.equal(unrecognizedImages?.length, 200);
  t.equal(unrecognizedImagesOmitted, 5);
});
