import { readFileSync } from "node:fs";
import { isLoopbackHost } from "../platform/config/field.ts";
import { defaultHttpLimits, type HttpServer, serveHttp } from "../platform/http/serve-http.ts";
import type { Logger } from "../platform/log/logger.ts";
import { createMetrics } from "../platform/metrics/metrics.ts";
import { systemRandom } from "../platform/random/random.ts";
import { systemClock } from "../platform/time/clock.ts";
import { TlsCertificates } from "../platform/tls/tls-certificates.ts";
import type { Tracer } from "../platform/tracing/tracer.ts";
import type { HubConfig } from "./config.ts";
import { loadKnowledgeBase } from "./drivers/knowledge-base-files.ts";
import { parseIgnoreConfig, readTeamMap } from "./drivers/scan-config-file.ts";
import { createHubApp } from "./http/hub-app.ts";
import { minorNumber, minorOf } from "./model/kubernetes-minor.ts";
import { GateService } from "./service/gate-service.ts";

export interface HubDependencies {
  readonly logger: Logger;
  readonly version: string;
  readonly cwd: string;
  readonly tracer?: Tracer | undefined;
}

export interface Hub extends AsyncDisposable {
  readonly url: string;
}

const shutdownDeadlineMs = 30_000;

/** @throws DomainError when a file cannot be used or the address is taken */
export async function startHub(config: HubConfig, dependencies: HubDependencies): Promise<Hub> {
  const { logger, version, cwd } = dependencies;
  const teams = config.teamMap === undefined ? { teamMap: [], warnings: [] } : readTeamMap(config.teamMap, cwd);
  for (const warning of teams.warnings) logger.warn({}, warning);
  const knowledgeBase = loadKnowledgeBase(config.registryFolder);
  const readToken =
    config.readTokenPath === undefined ? config.readToken : readFileSync(config.readTokenPath, "utf8").trim();
  const isLoopback = isLoopbackHost(config.listen.host);
  if (readToken === undefined && !isLoopback) logger.warn({}, "anyone who reaches this address can read");
  const gate = new GateService({
    ...config,
    knowledgeBase,
    teamMap: teams.teamMap,
    toolVersion: version,
    clock: systemClock,
  });
  const app = createHubApp({
    gate,
    toolVersion: version,
    readToken,
    allowedHosts: [...config.allowedHosts, ...namesOf(config)],
    isHostChecked: isLoopback || readToken === undefined,
    gateBytesMax: config.gateBytesMax,
    defaultTarget: minorOf(minorNumber(knowledgeBase.horizon) - 1),
    parseConfig: parseIgnoreConfig,
    logger,
    metrics: createMetrics({ hasProcessMetrics: true }),
    clock: systemClock,
    random: systemRandom,
    tracer: dependencies.tracer,
  });
  const tls = loadCertificates(config, logger);
  try {
    const server = await serveHttp({
      app,
      listen: config.listen,
      tls,
      limits: defaultHttpLimits,
      logger,
      shutdownDeadlineMs,
    });
    return createHub(server, tls);
  } catch (error) {
    tls?.[Symbol.dispose]();
    throw error;
  }
}

function createHub(server: HttpServer, tls: TlsCertificates | undefined): Hub {
  return {
    url: server.url,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      tls?.[Symbol.dispose]();
    },
  };
}

function namesOf(config: HubConfig): readonly string[] {
  const { host } = config.listen;
  return host === undefined || host === "0.0.0.0" || host === "::" ? [] : [host.toLowerCase()];
}

function loadCertificates(config: HubConfig, logger: Logger): TlsCertificates | undefined {
  if (config.tlsCertPath === undefined || config.tlsKeyPath === undefined) return undefined;
  return TlsCertificates.load({ certFile: config.tlsCertPath, keyFile: config.tlsKeyPath, logger });
}
