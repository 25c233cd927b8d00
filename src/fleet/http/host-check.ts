import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import type { HttpEnv } from "../../platform/http/http-env.ts";
import type { Counter } from "../../platform/metrics/metrics.ts";
import { fleetError } from "../errors.ts";

/**
 * Defence against DNS rebinding: a page of another site can make a browser send requests here under its own name, so a
 * request is answered only under a name that is ours.
 */
export interface HostCheckOptions {
  /** Names beside loopback and the address that the request came in on; any port. */
  readonly allowedHosts: readonly string[];
  readonly refused: Counter;
}

export function createHostCheck(options: HostCheckOptions): MiddlewareHandler<HttpEnv> {
  const allowed = new Set(options.allowedHosts.map((host) => host.toLowerCase()));
  return async (context, next) => {
    const host = hostOf(context.req.header("host") ?? "");
    const localAddress = context.env?.incoming?.socket.localAddress?.replace(/^::ffff:/, "");
    if (!isLoopback(host) && !allowed.has(host) && (isIP(host) === 0 || host !== localAddress)) {
      options.refused.increment({ route: "host-refused", method: context.req.method, code: 421 });
      throw fleetError(
        "host_refused",
        "Cannot answer under this Host: it is no name of this server; see --allowed-host",
      );
    }
    await next();
  };
}

function hostOf(header: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(header);
  return (bracketed?.[1] ?? header.replace(/:\d+$/, "")).toLowerCase();
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
