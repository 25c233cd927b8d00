import { Hono } from "hono";
import type { HttpEnv } from "./http-env.ts";
import type { OpenApiDocument } from "./openapi.ts";
import { loadStaticPage, type StaticPage } from "./static-page.ts";

/** `/openapi.json` and a page that renders it and sends requests. */
const pageAsset = "platform/http/docs.html";

export interface DocsOptions {
  readonly document: OpenApiDocument;
  readonly path?: string;
  readonly documentPath?: string;
}

export function createDocsRoutes(options: DocsOptions): Hono<HttpEnv> {
  const documentPath = options.documentPath ?? "/openapi.json";
  const text = JSON.stringify(options.document);
  let page: StaticPage | undefined;
  const app = new Hono<HttpEnv>();
  app.get(documentPath, (context) => context.body(text, 200, { "Content-Type": "application/json" }));
  app.get(options.path ?? "/docs", (context) => {
    page ??= loadStaticPage(pageAsset, { document: documentPath });
    context.header("Content-Security-Policy", page.policy);
    context.header("X-Content-Type-Options", "nosniff");
    return context.html(page.html);
  });
  return app;
}
