/**
 * Finds the Docker engine as the docker CLI does: DOCKER_HOST, else the context named by DOCKER_CONTEXT or by the
 * client's configuration, else the default socket. Nothing is read from the paths of the engine's host.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { branchingError } from "../../errors.ts";

export type DockerEndpoint =
  | { readonly kind: "unix"; readonly socketPath: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls: TlsMaterial | undefined };

export interface TlsMaterial {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly isVerified: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const defaultSocket = "/var/run/docker.sock";

export function resolveDockerEndpoint(environment: Environment, homeDir: string): DockerEndpoint {
  const configFolder = environment["DOCKER_CONFIG"] || join(homeDir, ".docker");
  const host = environment["DOCKER_HOST"];
  if (host !== undefined && host !== "")
    return parseEndpoint(host, "DOCKER_HOST", () => readEnvironmentTls(environment, configFolder));
  const context = environment["DOCKER_CONTEXT"] || readCurrentContext(configFolder);
  if (context === undefined || context === "default") return { kind: "unix", socketPath: defaultSocket };
  return readContext(configFolder, context);
}

function parseEndpoint(text: string, origin: string, readTls: () => TlsMaterial | undefined): DockerEndpoint {
  if (text.startsWith("unix://")) return { kind: "unix", socketPath: text.slice("unix://".length) || defaultSocket };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const scheme = url?.protocol ?? "";
  if (scheme === "ssh:") {
    throw branchingError(
      "endpoint_unsupported",
      `Cannot use the Docker endpoint "${text}" from ${origin}: ssh:// is not supported; forward the socket (ssh -L) and use unix:// or tcp://`,
    );
  }
  if (url === undefined || !["tcp:", "http:", "https:"].includes(scheme) || url.hostname === "") {
    throw branchingError(
      "endpoint_unsupported",
      `Cannot use the Docker endpoint "${text}" from ${origin}: it must start with unix:// or tcp://`,
    );
  }
  const tls = scheme === "http:" ? undefined : (readTls() ?? (scheme === "https:" ? plainTls : undefined));
  const port = url.port === "" ? (tls === undefined ? 2375 : 2376) : Number(url.port);
  return { kind: "tcp", host: url.hostname.replace(/^\[|\]$/g, ""), port, tls };
}

const plainTls: TlsMaterial = { ca: undefined, cert: undefined, key: undefined, isVerified: true };

function readEnvironmentTls(environment: Environment, configFolder: string): TlsMaterial | undefined {
  const verify = environment["DOCKER_TLS_VERIFY"] ?? "";
  const certPath = environment["DOCKER_CERT_PATH"] ?? "";
  if (verify === "" && certPath === "") return undefined;
  return readTlsFolder(certPath === "" ? configFolder : certPath, verify !== "");
}

function readTlsFolder(folder: string, isVerified: boolean): TlsMaterial {
  const read = (name: string): Buffer | undefined => {
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path) : undefined;
  };
  return { ca: read("ca.pem"), cert: read("cert.pem"), key: read("key.pem"), isVerified };
}

function readCurrentContext(configFolder: string): string | undefined {
  const path = join(configFolder, "config.json");
  if (!existsSync(path)) return undefined;
  try {
    const config = JSON.parse(readFileSync(path, "utf8")) as { currentContext?: unknown };
    return typeof config.currentContext === "string" && config.currentContext !== ""
      ? config.currentContext
      : undefined;
  } catch (cause) {
    throw branchingError("endpoint_unsupported", `Cannot read the Docker configuration "${path}": it is no JSON`, {
      cause,
    });
  }
}

function readContext(configFolder: string, name: string): DockerEndpoint {
  const id = createHash("sha256").update(name).digest("hex");
  const path = join(configFolder, "contexts", "meta", id, "meta.json");
  if (!existsSync(path)) {
    throw branchingError("endpoint_unsupported", `Cannot use the Docker context "${name}": there is no such context`);
  }
  const meta = JSON.parse(readFileSync(path, "utf8")) as {
    Endpoints?: { docker?: { Host?: string; SkipTLSVerify?: boolean } };
  };
  const endpoint = meta.Endpoints?.docker;
  const host = endpoint?.Host;
  if (host === undefined || host === "") {
    throw branchingError("endpoint_unsupported", `Cannot use the Docker context "${name}": it names no endpoint`);
  }
  return parseEndpoint(host, `context ${name}`, () => {
    const folder = join(configFolder, "contexts", "tls", id, "docker");
    return existsSync(folder) ? readTlsFolder(folder, endpoint?.SkipTLSVerify !== true) : undefined;
  });
}
