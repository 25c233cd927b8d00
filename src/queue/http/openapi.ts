import { type ZodType, z } from "zod";
import type { ApiMethod, ApiResponse, ApiRouteSpec } from "../../platform/http/api-routes.ts";
import { createOpenApiDocument, type OpenApiDocument } from "../../platform/http/openapi.ts";
import type { Route } from "./route.ts";
import { errorBodySchema } from "./wire/common.ts";

/** Statuses beside the good one, by number. */
const errorTexts: Readonly<Record<number, string>> = {
  400: "The request is wrong; `error.code` says how",
  403: "Not allowed",
  404: "There is no such thing",
  409: "The state does not allow it",
  413: "Too large",
  415: "A media type that is not understood",
  500: "Something broke inside",
  503: "Not now; try again after Retry-After",
  504: "No answer in time; whether it was done is not known",
};

const documentRoutes: readonly ApiRouteSpec[] = [
  {
    method: "get",
    path: "/openapi.json",
    operationId: "openapi",
    tag: "System",
    summary: "This document",
    responses: { 200: { description: "OpenAPI 3.1", schema: z.looseObject({ openapi: z.literal("3.1.0") }) } },
  },
  {
    method: "get",
    path: "/docs",
    operationId: "docs",
    tag: "System",
    summary: "This document as a page that can send requests",
    responses: { 200: { description: "A page", mediaType: "text/html" } },
  },
];

export function createQueueDocument(routes: readonly Route[], version: string): OpenApiDocument {
  return createOpenApiDocument([...routes.map(toSpec), ...documentRoutes], {
    title: "slipway queue",
    version,
    description:
      "A message queue: topics of partitions, consumer groups, retries and dead letters, priorities, delayed messages. " +
      "Every path answers under /v1 too.",
    errorSchema: errorBodySchema,
    commonErrors: { 400: errorTexts[400] ?? "", 500: errorTexts[500] ?? "" },
  });
}

function toSpec(route: Route): ApiRouteSpec {
  const [body] = Object.values(route.body ?? {});
  const bodyMediaTypes = Object.keys(route.body ?? {}).filter((mediaType) => mediaType !== "application/json");
  return {
    method: route.method.toLowerCase() as ApiMethod,
    path: route.path,
    operationId: route.operationId,
    tag: route.tag,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(route.query === undefined ? {} : { query: toQuery(route.query) }),
    ...(body === undefined ? {} : { body }),
    ...(bodyMediaTypes.length === 0 ? {} : { bodyMediaTypes }),
    ...(route.isBodyRequired ? {} : { emptyBody: {} }),
    responses: toResponses(route),
  };
}

function toQuery(parameters: NonNullable<Route["query"]>): z.ZodObject {
  const fields = parameters.map(({ name, schema, description, isRequired }): [string, ZodType] => [
    name,
    (isRequired ? schema : schema.optional()).describe(description),
  ]);
  return z.object(Object.fromEntries(fields));
}

function toResponses(route: Route): Record<number, ApiResponse> {
  const responses: Record<number, ApiResponse> = {
    [route.status]: {
      description: route.status === 201 ? "Created" : "Done",
      ...(route.response === undefined ? {} : { schema: route.response }),
      ...(route.responseMediaType === undefined ? {} : { mediaType: route.responseMediaType }),
    },
  };
  for (const status of route.errors ?? []) {
    const isHealth = status === 503 && route.response !== undefined && route.tag === "System";
    responses[status] = {
      description: errorTexts[status] ?? "Refused",
      ...(isHealth ? { schema: route.response } : {}),
    };
  }
  return responses;
}
