import { Hono } from "hono";
import type { ZodType } from "zod";
import type { HttpContext, HttpEnv } from "../../platform/http/http-env.ts";

/** One endpoint: what the router mounts and what the OpenAPI document tells of it come from the same value. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With parameters in braces: `/topics/{topic}`. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: readonly QueryParameter[];
  /** Body by media type; for the document only, handlers parse by themselves. */
  readonly body?: Readonly<Record<string, ZodType>>;
  readonly isBodyRequired?: boolean;
  readonly status: 200 | 201;
  /** Absent for an answer that is no JSON. */
  readonly response?: ZodType;
  readonly responseMediaType?: string;
  /** Status codes of refusals that this endpoint has beside 400 and 500. */
  readonly errors?: readonly number[];
  /** Paths that do the same, left out of the document. */
  readonly aliases?: readonly string[];
  readonly handle: (context: HttpContext) => Response | Promise<Response>;
}

export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: ZodType;
  readonly isRequired?: boolean;
}

/** Every path answers under `/v1` too. */
const prefixes = ["", "/v1"] as const;

export function mountRoutes(routes: readonly Route[]): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      for (const prefix of prefixes) app.on(route.method, prefix + toHonoPath(path), route.handle);
    }
  }
  return app;
}

function toHonoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}
