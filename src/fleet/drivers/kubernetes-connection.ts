/**
 * A connection to an API server with the credentials of a kubeconfig: client certificates, tokens, exec plugins, OIDC,
 * or the service account of a pod. The client library is used for these credentials only; requests are our own, because
 * its typed client knows neither metadata-only lists nor bounds on what it reads.
 */
import { existsSync } from "node:fs";
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { join } from "node:path";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import type { KubeConfig } from "@kubernetes/client-node";
import { systemClock } from "../../platform/time/clock.ts";
import { fleetError } from "../errors.ts";
import { type AcceptedForm, type KubernetesApi, KubernetesRequestError } from "../service/collect/kubernetes-api.ts";

export interface ConnectionOptions {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

export const requestTimeoutMs = 30_000;
/** The metrics of a large server are the largest answer there is. */
export const maxResponseSizeBytes = 256 * 1024 * 1024;
const maxMessageLength = 300;
const maxConnections = 8;
const credentialsMaxAgeMs = 60_000;

const acceptHeaders: Readonly<Record<AcceptedForm, string>> = {
  json: "application/json",
  metadata: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
  text: "text/plain",
};

/** @throws DomainError kubeconfig_invalid */
export async function connectKubernetes(options: ConnectionOptions): Promise<KubernetesApi> {
  const config = await loadKubeConfig(options);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw invalid(`its context "${config.getCurrentContext()}" names no cluster`);
  const base = parseServer(cluster.server);
  const name = config.getCurrentContext() === "" ? cluster.name : config.getCurrentContext();
  const user = config.getCurrentUser();
  if (base.protocol === "http:" && user !== null) {
    // The library refuses plain http, as `kubectl proxy` serves it, unless verification is off; there is none to turn off.
    config.loadFromClusterAndUser({ ...cluster, skipTLSVerify: true }, user);
  }
  const credentials = createCredentials(config);
  return {
    name,
    read: async (path, accept) => send({ credentials, base, path, accept, options }),
  };
}

async function loadKubeConfig({ kubeconfig, context, env, homeDir }: ConnectionOptions): Promise<KubeConfig> {
  // Loaded here and not above: the library takes longer to load than a scan of manifests takes to run.
  const { KubeConfig: Config } = await import("@kubernetes/client-node");
  const config = new Config();
  const paths =
    kubeconfig === undefined ? (env["KUBECONFIG"] ?? "").split(":").filter((path) => path !== "") : [kubeconfig];
  const fallback = join(homeDir, ".kube", "config");
  try {
    const [first, ...others] = paths;
    if (first !== undefined) {
      config.loadFromFile(first);
      for (const path of others) {
        const more = new Config();
        more.loadFromFile(path);
        config.mergeConfig(more, true);
      }
    } else if (existsSync(fallback)) config.loadFromFile(fallback);
    else if (env["KUBERNETES_SERVICE_HOST"] !== undefined) config.loadFromCluster();
    else throw invalid("there is none: name one by --kubeconfig, or name manifests by --files");
  } catch (error) {
    if (error instanceof Error && error.name === "DomainError") throw error;
    throw invalid(error instanceof Error ? firstLine(error.message) : "it cannot be read", error);
  }
  if (context !== undefined) useContext(config, context);
  return config;
}

function useContext(config: KubeConfig, context: string): void {
  const known = config.getContexts().map(({ name }) => name);
  if (!known.includes(context)) throw invalid(`it has no context "${context}"; there are ${known.join(", ")}`);
  config.setCurrentContext(context);
}

function parseServer(server: string): URL {
  try {
    const url = new URL(server);
    if (url.protocol === "https:" || url.protocol === "http:") return url;
  } catch {
    // Answered below.
  }
  throw invalid(`the server "${server}" is no http or https address`);
}

interface Sending {
  readonly credentials: () => Promise<RequestOptions>;
  readonly base: URL;
  readonly path: string;
  readonly accept: AcceptedForm;
  readonly options: ConnectionOptions;
}

/** Tokens may run out, so they are asked for again; connections are kept meanwhile. */
function createCredentials(config: KubeConfig): () => Promise<RequestOptions> {
  let known: { readonly options: RequestOptions; readonly sinceMs: number } | undefined;
  return async () => {
    const nowMs = systemClock.monotonicMs();
    if (known !== undefined && nowMs - known.sinceMs < credentialsMaxAgeMs) return known.options;
    const options: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      const state = error instanceof Error ? firstLine(error.message) : "unknown";
      throw new KubernetesRequestError(0, `there are no credentials: ${state}`);
    }
    if (options.agent instanceof Agent && options.agent.constructor === Agent) {
      options.agent = new Agent({ ...options.agent.options, keepAlive: true, maxSockets: maxConnections });
    }
    known = { options, sinceMs: nowMs };
    return options;
  };
}

async function send({ credentials, base, path, accept, options }: Sending): Promise<string> {
  const own = { Accept: acceptHeaders[accept], "Accept-Encoding": "gzip", "User-Agent": options.userAgent };
  const known = await credentials();
  const requestOptions: RequestOptions = { ...known, method: "GET", headers: { ...known.headers, ...own } };
  const prefix = base.pathname.replace(/\/+$/, "");
  const url = new URL(`${prefix}${path}`, base);
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const timeout = AbortSignal.timeout(requestTimeoutMs);
    const signal = AbortSignal.any([options.signal, timeout]);
    const request = send(url, { ...requestOptions, signal }, (response) => {
      readBody(response).then((body) => {
        const status = response.statusCode ?? 0;
        if (status === 200) resolve(body);
        else reject(new KubernetesRequestError(status, messageOf(status, body)));
      }, reject);
    });
    request.on("error", (error) => {
      if (options.signal.aborted) reject(options.signal.reason);
      else
        reject(
          new KubernetesRequestError(
            0,
            timeout.aborted ? `no answer within ${requestTimeoutMs} ms` : networkText(error),
          ),
        );
    });
    request.end();
  });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const encoding = response.headers["content-encoding"];
  const stream =
    encoding === "gzip"
      ? response.pipe(createGunzip())
      : encoding === "br"
        ? response.pipe(createBrotliDecompress())
        : response;
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxResponseSizeBytes) {
        response.destroy();
        throw new KubernetesRequestError(0, `an answer is larger than ${maxResponseSizeBytes} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof KubernetesRequestError) throw error;
    throw new KubernetesRequestError(0, networkText(error));
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The message of a Status object, cut; never the whole body. */
function messageOf(status: number, body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === "object" && parsed !== null && "message" in parsed)
      return String(parsed.message).slice(0, maxMessageLength);
  } catch {
    // Proxies answer in HTML.
  }
  return `the API server answered ${status}`;
}

function networkText(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
  if (code === "ECONNREFUSED") return "nothing listens at its address";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "its host name is not known";
  return code ?? (error instanceof Error ? firstLine(error.message) : "the connection failed");
}

function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").slice(0, maxMessageLength);
}

function invalid(state: string, cause?: unknown): Error {
  return fleetError("kubeconfig_invalid", `Cannot use the kubeconfig: ${state}`, cause === undefined ? {} : { cause });
}
