import { ApiRoutes } from "../../platform/http/api-routes.ts";
import type { KnowledgeBase } from "../model/knowledge-base.ts";

/** `GET /api/v1/registry`: the add-ons that this server knows, with their ranges and sources. */
export function createRegistryRoutes(knowledgeBase: KnowledgeBase): ApiRoutes {
  const routes = new ApiRoutes();
  const text = JSON.stringify({ kbVersion: knowledgeBase.version, addons: knowledgeBase.addOns });
  routes.add(
    {
      method: "get",
      path: "/api/v1/registry",
      operationId: "getRegistry",
      summary: "Add-ons that are recognised, their supported Kubernetes ranges and the sources",
      tag: "Knowledge base",
      responses: { 200: { description: "The registry" } },
    },
    (context) => context.body(text, 200, { "Content-Type": "application/json" }),
  );
  return routes;
}
