import { type Selection, selectionOf } from "./selection.ts";

/** What the rules read of an object. Kinds share one tree, because a document may name its kind last. */
const container = { name: "all", image: "all", command: "all", args: "all" } as const;

const nodeTerms = { matchExpressions: { key: "all" } } as const;

/** A volume source is known by its field name, so the names are kept and what is below them is not. */
const keysOnly = { "*": {} } as const;

const podSpec = {
  containers: container,
  initContainers: container,
  ephemeralContainers: container,
  volumes: keysOnly,
  nodeSelector: "all",
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: nodeTerms },
      preferredDuringSchedulingIgnoredDuringExecution: { preference: nodeTerms },
    },
  },
  nodeName: "all",
} as const;

const podTemplate = { metadata: { labels: "all" }, spec: podSpec } as const;

const argoSource = { repoURL: "all", chart: "all", targetRevision: "all" } as const;

const webhookClient = { service: { namespace: "all", name: "all" }, url: "all" } as const;

const customResourceDefinition = {
  group: "all",
  names: { kind: "all", plural: "all" },
  version: "all",
  versions: { name: "all", served: "all", storage: "all", deprecated: "all", deprecationWarning: "all" },
  conversion: { strategy: "all", webhook: { clientConfig: webhookClient }, webhookClientConfig: webhookClient },
} as const;

const disruptionBudget = {
  minAvailable: "all",
  maxUnavailable: "all",
  selector: { matchLabels: "all", matchExpressions: { key: "all" } },
} as const;

const gitops = {
  source: argoSource,
  sources: argoSource,
  destination: { namespace: "all" },
  // Flux HelmRelease has a map here, k3s and Flux HelmChart a text.
  chart: { spec: { chart: "all", version: "all" } },
  version: "all",
  repo: "all",
  targetNamespace: "all",
} as const;

/** Fields of a PersistentVolume that say nothing of its plugin are told apart where volumes are read. */
const persistentVolume = {
  awsElasticBlockStore: {},
  azureDisk: {},
  azureFile: {},
  cephfs: {},
  cinder: {},
  fc: {},
  flexVolume: {},
  flocker: {},
  gcePersistentDisk: {},
  gitRepo: {},
  glusterfs: {},
  iscsi: {},
  photonPersistentDisk: {},
  portworxVolume: {},
  quobyte: {},
  rbd: {},
  scaleIO: {},
  storageos: {},
  vsphereVolume: {},
} as const;

const schedulerProfile = {
  plugins: { "*": { enabled: { name: "all" }, disabled: { name: "all" } } },
} as const;

const kubeadm = {
  apiServer: { extraArgs: "all" },
  controllerManager: { extraArgs: "all" },
  scheduler: { extraArgs: "all" },
  featureGates: "all",
  kubernetesVersion: "all",
} as const;

const object = {
  apiVersion: "all",
  kind: "all",
  metadata: { name: "all", namespace: "all", generateName: "all", labels: "all", annotations: "all" },
  // Pods, workloads, cron jobs, and what else of a spec is read.
  spec: {
    ...podSpec,
    ...customResourceDefinition,
    ...disruptionBudget,
    ...gitops,
    ...persistentVolume,
    replicas: "all",
    template: podTemplate,
    jobTemplate: { spec: { template: podTemplate } },
    externalIPs: "all",
    controller: "all",
  },
  template: { ...podTemplate, template: podTemplate },
  webhooks: {
    name: "all",
    failurePolicy: "all",
    matchPolicy: "all",
    timeoutSeconds: "all",
    clientConfig: webhookClient,
    rules: { apiGroups: "all", apiVersions: "all", resources: "all" },
    namespaceSelector: { matchLabels: "all", matchExpressions: { key: "all" } },
    objectSelector: { matchLabels: "all", matchExpressions: { key: "all" } },
  },
  provisioner: "all",
  data: { ClusterConfiguration: "all", "config.conf": "all", kubelet: "all" },
  // Component configuration.
  mode: "all",
  profiles: schedulerProfile,
  ...kubeadm,
} as const;

/** A list is expanded into its items, which may be lists themselves. */
export const objectSelection: Selection = withItems(selectionOf(object));

function withItems(base: Selection): Selection {
  const fields = new Map(base.fields);
  const selection: Selection = { fields, rest: undefined };
  fields.set("items", selection);
  return selection;
}
