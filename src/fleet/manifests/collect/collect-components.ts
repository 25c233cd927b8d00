/**
 * Configuration of Kubernetes components: files of their own kinds, and the same texts inside the ConfigMaps where
 * kubeadm keeps them.
 */
import type { ComponentConfig, ComponentFlags, Inventory, ObjectRef } from "../../model/inventory.ts";
import { isList, type ManifestMap } from "../manifest-node.ts";
import { expandDocument, type ManifestObject } from "../manifest-object.ts";
import { NodeBudget } from "../node-budget.ts";
import { isMap, textsOf } from "../object-facts.ts";
import { readDocument } from "../read-document.ts";
import type { Collector } from "./collector.ts";
import { UsageTally } from "./usage-tally.ts";

const configGroups = new Set([
  "kubeadm.k8s.io",
  "kubelet.config.k8s.io",
  "kubeproxy.config.k8s.io",
  "kubescheduler.config.k8s.io",
  "audit.k8s.io",
]);
/** ConfigMaps of kube-system and the keys that hold a configuration file. */
const configKeys: Readonly<Record<string, readonly string[]>> = {
  "kubeadm-config": ["ClusterConfiguration"],
  "kube-proxy": ["config.conf"],
  "kubelet-config": ["kubelet"],
};
const kubeadmComponents = [
  ["apiServer", "kube-apiserver"],
  ["controllerManager", "kube-controller-manager"],
  ["scheduler", "kube-scheduler"],
] as const;
const maxEmbeddedNodes = 20_000;

export class ComponentCollector implements Collector {
  readonly #configs: ComponentConfig[] = [];
  readonly #flags: ComponentFlags[] = [];
  readonly #ipvs = new UsageTally();

  add(object: ManifestObject, ref: ObjectRef): void {
    if (configGroups.has(object.group)) this.#addConfig(object, ref, false);
    else if (object.kind === "ConfigMap" && object.namespace === "kube-system") this.#addConfigMap(object, ref);
  }

  contribute(): Partial<Inventory> {
    return {
      componentConfigs: this.#configs,
      componentFlags: this.#flags,
      fieldUsage: this.#ipvs.usages(() => ({ field: "kube-proxy-ipvs" as const })),
    };
  }

  #addConfigMap({ name, root }: ManifestObject, ref: ObjectRef): void {
    const keys = configKeys[name] ?? (/^kubelet-config-1\.\d+$/.test(name) ? ["kubelet"] : []);
    for (const key of keys) {
      const text = root.map("data")?.text(key);
      if (text === undefined) continue;
      const reading = readDocument(text, { budget: new NodeBudget(maxEmbeddedNodes), firstLine: 1 });
      if (reading.kind !== "read" || reading.root === undefined) continue;
      for (const config of expandDocument(reading.root).objects) this.#addConfig(config, ref, true);
    }
  }

  #addConfig({ group, version, kind, root }: ManifestObject, ref: ObjectRef, isEmbedded: boolean): void {
    const plugins = group === "kubescheduler.config.k8s.io" ? schedulerPluginsOf(root) : [];
    // A file that was posted itself is already counted among the APIs.
    if (isEmbedded || plugins.length > 0) {
      this.#configs.push({
        group,
        version,
        kind,
        ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
        name: ref.name,
        object: ref,
        ...(plugins.length === 0 ? {} : { plugins }),
      });
    }
    if (kind === "KubeProxyConfiguration" && root.text("mode") === "ipvs") this.#ipvs.add("kube-proxy-ipvs", ref);
    if (kind === "ClusterConfiguration") this.#addExtraArguments(root, ref);
    const component =
      kind === "KubeletConfiguration" ? "kubelet" : kind === "KubeProxyConfiguration" ? "kube-proxy" : undefined;
    const featureGates = Object.fromEntries(textsOf(root.map("featureGates")));
    if (component !== undefined && Object.keys(featureGates).length > 0)
      this.#flags.push({ component, object: ref, flags: {}, featureGates });
  }

  /** A mapping up to v1beta3, a list of names and values from v1beta4 on. */
  #addExtraArguments(root: ManifestMap, ref: ObjectRef): void {
    for (const [field, component] of kubeadmComponents) {
      const given = root.map(field)?.fields.get("extraArgs");
      const pairs = isMap(given)
        ? [...textsOf(given)]
        : isList(given)
          ? given.filter(isMap).map((entry) => [entry.text("name") ?? "", entry.text("value") ?? ""] as const)
          : [];
      const flags: Record<string, string> = {};
      for (const [name, value] of pairs) if (name !== "") flags[`--${name}`] = value;
      if (Object.keys(flags).length === 0) continue;
      const { "--feature-gates": gates, ...others } = flags;
      this.#flags.push({ component, object: ref, flags: others, featureGates: gatesOf(gates) });
    }
  }
}

function gatesOf(text: string | undefined): Record<string, string> {
  return Object.fromEntries(
    (text ?? "")
      .split(",")
      .map((part) => part.split("=", 2))
      .flatMap(([name, value]) =>
        name === undefined || value === undefined ? [] : [[name.trim(), value.trim()] as const],
      ),
  );
}

function schedulerPluginsOf(root: ManifestMap): string[] {
  const names = new Set<string>();
  for (const profile of root.maps("profiles")) {
    for (const point of profile.map("plugins")?.fields.values() ?? []) {
      if (!isMap(point)) continue;
      for (const list of ["enabled", "disabled"]) {
        for (const plugin of point.maps(list)) {
          const name = plugin.text("name");
          if (name !== undefined && name !== "*") names.add(name);
        }
      }
    }
  }
  return [...names].sort();
}
