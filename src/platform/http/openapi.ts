import { type ZodObject, type ZodType, z } from "zod";
import type { ApiResponse, ApiRouteSpec } from "./api-routes.ts";

/**
 * An OpenAPI 3.1 document from declared routes. Its schemas are JSON Schema 2020-12, which zod writes itself; a schema
 * with `.meta({ id })` becomes a component that others refer to.
 */
export interface OpenApiOptions {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  /** In the form of the specification: `{ apiKey: { type: "apiKey", in: "header", name: "X-API-Key" } }`. */
  readonly securitySchemes?: Readonly<Record<string, object>>;
  readonly tags?: readonly { readonly name: string; readonly description: string }[];
  /** The body of every error answer. */
  readonly errorSchema?: ZodType;
  /** Statuses that any route may answer with an error body. */
  readonly commonErrors?: Readonly<Record<number, string>>;
}

export type JsonObject = { [name: string]: unknown };

export interface OpenApiDocument extends JsonObject {
  openapi: "3.1.0";
  paths: Record<string, Record<string, JsonObject>>;
}

export function createOpenApiDocument(specs: readonly ApiRouteSpec[], options: OpenApiOptions): OpenApiDocument {
  const components = new SchemaComponents();
  const paths: OpenApiDocument["paths"] = {};
  for (const spec of specs) {
    const path = paths[spec.path] ?? {};
    paths[spec.path] = path;
    path[spec.method] = describeOperation(spec, options, components);
  }
  const schemes = options.securitySchemes;
  return {
    openapi: "3.1.0",
    info: {
      title: options.title,
      version: options.version,
      ...(options.description === undefined ? {} : { description: options.description }),
    },
    ...(options.servers === undefined ? {} : { servers: options.servers }),
    ...(options.tags === undefined ? {} : { tags: options.tags }),
    ...(schemes === undefined ? {} : { security: Object.keys(schemes).map((name) => ({ [name]: [] })) }),
    paths,
    components: { schemas: components.schemas, ...(schemes === undefined ? {} : { securitySchemes: schemes }) },
  };
}

function describeOperation(spec: ApiRouteSpec, options: OpenApiOptions, components: SchemaComponents): JsonObject {
  const parameters = [
    ...describeParameters("path", spec.params ?? pathTexts(spec.path), components),
    ...describeParameters("query", spec.query, components),
  ];
  return {
    operationId: spec.operationId,
    tags: [spec.tag],
    summary: spec.summary,
    ...(spec.description === undefined ? {} : { description: spec.description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(spec.body === undefined ? {} : { requestBody: describeBody(spec, spec.body, components) }),
    responses: describeResponses(spec, options, components),
    ...(spec.isPublic ? { security: [] } : {}),
    ...(spec.isDeprecated ? { deprecated: true } : {}),
  };
}

function describeParameters(
  place: "path" | "query",
  schema: ZodObject | undefined,
  components: SchemaComponents,
): JsonObject[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, ...described } = components.describe(field as ZodType, "input");
    const isOptional = (field as ZodType).safeParse(undefined).success;
    return {
      name,
      in: place,
      required: place === "path" || !isOptional,
      ...(description === undefined ? {} : { description }),
      schema: described,
    };
  });
}

/** Path parameters without a schema of their own are texts. */
function pathTexts(path: string): ZodObject {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
  return z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
}

function describeBody(spec: ApiRouteSpec, body: ZodType, components: SchemaComponents): JsonObject {
  const content = {
    schema: components.describe(body, "input"),
    ...(spec.bodyExample === undefined ? {} : { example: spec.bodyExample }),
  };
  const mediaTypes = ["application/json", ...(spec.bodyMediaTypes ?? [])];
  return {
    required: spec.emptyBody === undefined,
    content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, content])),
  };
}

function describeResponses(spec: ApiRouteSpec, options: OpenApiOptions, components: SchemaComponents): JsonObject {
  const responses: JsonObject = {};
  for (const [status, response] of Object.entries(spec.responses)) {
    const errorSchema = Number(status) >= 400 ? options.errorSchema : undefined;
    responses[status] = describeResponse(response, response.schema ?? errorSchema, components);
  }
  for (const [status, description] of Object.entries(options.commonErrors ?? {})) {
    responses[status] ??= describeResponse({ description }, options.errorSchema, components);
  }
  return responses;
}

function describeResponse(
  response: ApiResponse,
  schema: ZodType | undefined,
  components: SchemaComponents,
): JsonObject {
  const headers = Object.entries(response.headers ?? {}).map(([name, description]) => [
    name,
    { description, schema: { type: "string" } },
  ]);
  const content = schema === undefined ? {} : { schema: components.describe(schema, "output") };
  const hasContent = schema !== undefined || response.mediaType !== undefined;
  return {
    description: response.description,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(hasContent ? { content: { [response.mediaType ?? "application/json"]: content } } : {}),
  };
}

class SchemaComponents {
  readonly schemas: Record<string, JsonObject> = {};

  /** The schema, or a reference when it or parts of it are named. Input and output of a name may differ. */
  describe(schema: ZodType, io: "input" | "output"): JsonObject {
    const { $schema, $defs, ...described } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as JsonObject;
    const names = new Map<string, string>();
    const definitions = Object.entries(($defs ?? {}) as Record<string, JsonObject>);
    for (const [id, definition] of definitions) names.set(id, this.#chooseName(id, definition, io));
    for (const [id, definition] of definitions)
      this.schemas[names.get(id) ?? id] = rename(withoutId(definition), names);
    const { id } = described;
    const body = rename(withoutId(described), names);
    if (typeof id !== "string") return body;
    const name = this.#chooseName(id, body, io);
    this.schemas[name] = body;
    return { $ref: `#/components/schemas/${name}` };
  }

  #chooseName(id: string, definition: JsonObject, io: "input" | "output"): string {
    const known = this.schemas[id];
    if (known === undefined || JSON.stringify(known) === JSON.stringify(withoutId(definition))) return id;
    return io === "input" ? `${id}Input` : `${id}Output`;
  }
}

function withoutId({ id, ...rest }: JsonObject): JsonObject {
  return typeof id === "string" ? rest : { ...rest, ...(id === undefined ? {} : { id }) };
}

/** Moves references from the schema's own definitions to the document's components. */
function rename(value: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  const visit = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(visit);
    if (typeof item !== "object" || item === null) return item;
    return Object.fromEntries(
      Object.entries(item).map(([key, child]) => {
        const id = key === "$ref" && typeof child === "string" ? /^#\/\$defs\/(.+)$/.exec(child)?.[1] : undefined;
        return id === undefined ? [key, visit(child)] : [key, `#/components/schemas/${names.get(id) ?? id}`];
      }),
    );
  };
  return visit(value) as JsonObject;
}
