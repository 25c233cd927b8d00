import { Hono } from "hono";
import type { ZodObject, ZodType, z } from "zod";
import type { HttpContext, HttpEnv } from "./http-env.ts";
import { checkBody, checkQuery, readJson } from "./read-body.ts";

/**
 * Routes that describe themselves: one declaration gives the pattern, the checked and typed input of the handler, and
 * the entry in the OpenAPI document. What is documented is what is enforced, because it is the same schema.
 */
export type ApiMethod = "get" | "post" | "put" | "patch" | "delete";

export interface ApiResponse {
  readonly description: string;
  readonly schema?: ZodType;
  /** `application/json` unless said otherwise. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiRouteSpec<
  Params extends ZodObject = ZodObject,
  Query extends ZodObject = ZodObject,
  Body extends ZodType = ZodType,
> {
  readonly method: ApiMethod;
  /** In the form of OpenAPI: `/topics/{name}/partitions/{partition}`. */
  readonly path: string;
  /** Unique; clients are generated with these names. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly bodyExample?: unknown;
  /** Media types taken as JSON beside `application/json`. */
  readonly bodyMediaTypes?: readonly string[];
  /** Stands for an absent body; the body is then optional. */
  readonly emptyBody?: unknown;
  readonly responses: Readonly<Record<number, ApiResponse>>;
  /** No credential is asked for. */
  readonly isPublic?: boolean;
  readonly isDeprecated?: boolean;
}

export interface ApiInput<Params extends ZodObject, Query extends ZodObject, Body extends ZodType> {
  readonly params: z.output<Params>;
  readonly query: z.output<Query>;
  readonly body: z.output<Body>;
}

export type ApiHandler<Params extends ZodObject, Query extends ZodObject, Body extends ZodType> = (
  context: HttpContext,
  input: ApiInput<Params, Query, Body>,
) => Response | Promise<Response>;

export class ApiRoutes {
  /** Mount with `router.route("/", api.app)`. */
  readonly app: Hono<HttpEnv> = new Hono<HttpEnv>();
  readonly #specs: ApiRouteSpec[] = [];

  get specs(): readonly ApiRouteSpec[] {
    return this.#specs;
  }

  add<Params extends ZodObject, Query extends ZodObject, Body extends ZodType>(
    spec: ApiRouteSpec<Params, Query, Body>,
    handle: ApiHandler<Params, Query, Body>,
  ): void {
    this.#specs.push(spec);
    this.app.on(spec.method.toUpperCase(), toHonoPath(spec.path), async (context) => {
      const params = spec.params === undefined ? {} : checkBody(context.req.param(), spec.params);
      const query = spec.query === undefined ? {} : checkQuery(context, spec.query);
      const body = spec.body === undefined ? undefined : await readSpecBody(context, spec, spec.body);
      return await handle(context, { params, query, body } as ApiInput<Params, Query, Body>);
    });
  }

  /** For routes that handle themselves, such as a stream or a form: documented only. */
  describe(spec: ApiRouteSpec): void {
    this.#specs.push(spec);
  }
}

async function readSpecBody<Body extends ZodType>(
  context: HttpContext,
  spec: ApiRouteSpec,
  schema: Body,
): Promise<z.output<Body>> {
  return await readJson<z.output<Body>>(context, {
    schema: schema as ZodType<z.output<Body>>,
    ...(spec.bodyMediaTypes === undefined ? {} : { mediaTypes: spec.bodyMediaTypes }),
    ...(spec.emptyBody === undefined ? {} : { emptyBody: spec.emptyBody }),
  });
}

function toHonoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}
