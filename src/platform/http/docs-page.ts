import { createHash } from "node:crypto";
import { Hono } from "hono";
import { readAsset } from "../assets/assets.ts";
import type { HttpEnv } from "./http-env.ts";
import type { OpenApiDocument } from "./openapi.ts";

/**
 * `/openapi.json` and a page that renders it and sends requests. The page is one file without any address of another
 * host, so that it works where nothing else can be reached; its policy lets exactly its own style and script run.
 */
const pageAsset = "platform/http/docs.html";

export interface DocsOptions {
  readonly document: OpenApiDocument;
  readonly path?: string;
  readonly documentPath?: string;
}

export function createDocsRoutes(options: DocsOptions): Hono<HttpEnv> {
  const documentPath = options.documentPath ?? "/openapi.json";
  const text = JSON.stringify(options.document);
  let page: Page | undefined;
  const app = new Hono<HttpEnv>();
  app.get(documentPath, (context) => context.body(text, 200, { "Content-Type": "application/json" }));
  app.get(options.path ?? "/docs", (context) => {
    page ??= readPage(documentPath);
    context.header("Content-Security-Policy", page.policy);
    context.header("X-Content-Type-Options", "nosniff");
    return context.html(page.html);
  });
  return app;
}

interface Page {
  readonly html: string;
  readonly policy: string;
}

function readPage(documentPath: string): Page {
  const html = readAsset(pageAsset).toString("utf8").replace("{{document}}", documentPath);
  const policy = [
    "default-src 'none'",
    "connect-src 'self'",
    `style-src '${hashOf(html, "style")}'`,
    `script-src '${hashOf(html, "script")}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return { html, policy: policy.join("; ") };
}

function hashOf(html: string, element: "style" | "script"): string {
  const content = html.split(`<${element}>`)[1]?.split(`</${element}>`)[0] ?? "";
  return `sha256-${createHash("sha256").update(content).digest("base64")}`;
}
