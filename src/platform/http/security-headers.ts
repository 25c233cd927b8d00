import type { MiddlewareHandler } from "hono";
import type { HttpEnv } from "./http-env.ts";

export interface SecurityHeadersOptions {
  /** Content-Security-Policy; the default lets a page load from its own origin only. */
  readonly contentSecurityPolicy?: string;
}

/** Headers that cost nothing and close whole classes of browser attacks, on errors too. A route's own policy stays. */
export function securityHeaders(options: SecurityHeadersOptions = {}): MiddlewareHandler<HttpEnv> {
  const policy = options.contentSecurityPolicy ?? "default-src 'self'; frame-ancestors 'none'; base-uri 'none'";
  return async (context, next) => {
    await next();
    if (!context.res.headers.has("Content-Security-Policy")) context.header("Content-Security-Policy", policy);
    context.header("X-Content-Type-Options", "nosniff");
    context.header("Referrer-Policy", "no-referrer");
    context.header("X-Frame-Options", "DENY");
  };
}
