/**
 * An API server as far as collectors see one: discovery, lists in pages with tokens that can expire, metadata-only
 * answers, single objects, refusals, metrics. Answers have the shapes that Kubernetes 1.31 gives. It answers GET only and
 * records every request, so that a test can tell what was asked and how.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

export interface FakeResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced?: boolean;
  readonly items: readonly FakeObject[];
}

export interface FakeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface FakeKubernetesOptions {
  readonly gitVersion: string;
  readonly resources: readonly FakeResource[];
  readonly metrics?: string;
  /** Paths (without query) that are refused, with their status. */
  readonly refused?: Readonly<Record<string, number>>;
  /** How often a continued list answers 410 before it goes on. */
  readonly expiredTokens?: number;
  readonly token?: string;
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
}

export interface FakeKubernetes extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly FakeRequest[];
  /** Text of a kubeconfig for it. */
  readonly kubeconfig: string;
}

export async function startFakeKubernetes(options: FakeKubernetesOptions): Promise<FakeKubernetes> {
  const requests: FakeRequest[] = [];
  const state = { expired: options.expiredTokens ?? 0 };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    requests.push({
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
    });
    const { status, body } = answer(options, url, request, state);
    send(request, response, status, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    kubeconfig: kubeconfigFor(url, options.token),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function kubeconfigFor(url: string, token: string | undefined): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "fake",
    contexts: [
      { name: "fake", context: { cluster: "fake", user: "fake" } },
      { name: "nowhere", context: { cluster: "nowhere", user: "fake" } },
    ],
    clusters: [
      { name: "fake", cluster: { server: url } },
      { name: "nowhere", cluster: { server: "http://127.0.0.1:1" } },
    ],
    users: [{ name: "fake", user: token === undefined ? {} : { token } }],
  });
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

function answer(
  options: FakeKubernetesOptions,
  url: URL,
  request: IncomingMessage,
  state: { expired: number },
): Answer {
  const path = url.pathname;
  if (request.method !== "GET") return failure(405, "the server does not allow this method on the requested resource");
  if (options.token !== undefined && request.headers.authorization !== `Bearer ${options.token}`)
    return failure(401, "Unauthorized");
  const refused = options.refused?.[path];
  if (refused !== undefined)
    return failure(refused, `${path} is forbidden: User "fake" cannot list resource at the cluster scope`);
  if (path === "/version") return { status: 200, body: { major: "1", minor: "31", gitVersion: options.gitVersion } };
  if (path === "/metrics")
    return options.metrics === undefined ? failure(404, "not found") : { status: 200, body: options.metrics };
  if (path === "/apis") return { status: 200, body: groupsOf(options.resources) };
  const discovery = /^\/(?:api\/(v\d\w*)|apis\/([^/]+)\/([^/]+))$/.exec(path);
  if (discovery !== null) return resourcesOf(options.resources, discovery[2] ?? "", discovery[1] ?? discovery[3] ?? "");
  return readResource(options.resources, url, request, state);
}

function groupsOf(resources: readonly FakeResource[]): unknown {
  const groups = new Map<string, string[]>();
  for (const { group, version } of resources) {
    if (group === "") continue;
    const versions = groups.get(group) ?? [];
    if (!versions.includes(version)) versions.push(version);
    groups.set(group, versions);
  }
  return {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: [...groups].map(([name, versions]) => ({
      name,
      versions: versions.map((version) => ({ groupVersion: `${name}/${version}`, version })),
      preferredVersion: { groupVersion: `${name}/${versions[0]}`, version: versions[0] },
    })),
  };
}

function resourcesOf(resources: readonly FakeResource[], group: string, version: string): Answer {
  const own = resources.filter((resource) => resource.group === group && resource.version === version);
  if (own.length === 0 && group !== "") return failure(404, "the server could not find the requested resource");
  const list = own.flatMap(({ kind, plural, namespaced }) => [
    { name: plural, singularName: "", namespaced: namespaced ?? true, kind, verbs: ["create", "get", "list", "watch"] },
    { name: `${plural}/status`, singularName: "", namespaced: namespaced ?? true, kind, verbs: ["get", "patch"] },
  ]);
  return {
    status: 200,
    body: { kind: "APIResourceList", groupVersion: group === "" ? version : `${group}/${version}`, resources: list },
  };
}

function readResource(
  resources: readonly FakeResource[],
  url: URL,
  request: IncomingMessage,
  state: { expired: number },
): Answer {
  const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?$/.exec(
    url.pathname,
  );
  const [, group = "", version = "", namespace, plural = "", name] = match ?? [];
  const resource = resources.find(
    (candidate) => candidate.group === group && candidate.version === version && candidate.plural === plural,
  );
  if (resource === undefined) return failure(404, "the server could not find the requested resource");
  const items = resource.items.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
  if (name !== undefined) {
    const found = items.find(({ metadata }) => metadata.name === name);
    const apiVersion = group === "" ? version : `${group}/${version}`;
    return found === undefined
      ? failure(404, `${plural} "${name}" not found`)
      : { status: 200, body: { kind: resource.kind, apiVersion, ...found } };
  }
  return readPage({
    resource,
    items: filterByLabel(items, url.searchParams.get("labelSelector")),
    url,
    request,
    state,
  });
}

interface PageInput {
  readonly resource: FakeResource;
  readonly items: readonly FakeObject[];
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly state: { expired: number };
}

function readPage({ resource, items, url, request, state }: PageInput): Answer {
  const limit = Number(url.searchParams.get("limit") ?? items.length);
  const token = url.searchParams.get("continue");
  if (token !== null && state.expired > 0) {
    state.expired -= 1;
    return failure(410, "The provided continue parameter is too old to display a consistent list result.");
  }
  const start = token === null ? 0 : Number(Buffer.from(token, "base64").toString());
  const end = Math.min(items.length, start + limit);
  const isMetadataOnly = (request.headers.accept ?? "").startsWith("application/json;as=PartialObjectMetadataList");
  const shown = items
    .slice(start, end)
    .map((item) =>
      isMetadataOnly ? { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: item.metadata } : item,
    );
  const metadata = {
    resourceVersion: "1",
    ...(end < items.length
      ? { continue: Buffer.from(String(end)).toString("base64"), remainingItemCount: items.length - end }
      : {}),
  };
  const apiVersion = resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
  const type = isMetadataOnly
    ? { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" }
    : { kind: `${resource.kind}List`, apiVersion };
  return { status: 200, body: { ...type, metadata, items: shown } };
}

function filterByLabel(items: readonly FakeObject[], selector: string | null): readonly FakeObject[] {
  if (selector === null) return items;
  const [name = "", value = ""] = selector.split("=");
  return items.filter(({ metadata }) => metadata.labels?.[name] === value);
}

function failure(status: number, message: string): Answer {
  return { status, body: { kind: "Status", apiVersion: "v1", status: "Failure", message, code: status } };
}

function send(request: IncomingMessage, response: ServerResponse, status: number, body: unknown): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const isZipped = request.headers["accept-encoding"] === "gzip" && text.length > 1000;
  const type = typeof body === "string" ? "text/plain; version=0.0.4" : "application/json";
  response.writeHead(status, { "Content-Type": type, ...(isZipped ? { "Content-Encoding": "gzip" } : {}) });
  response.end(isZipped ? gzipSync(text) : text);
}
