import { createHash } from "node:crypto";
import { readAsset } from "../assets/assets.ts";

/**
 * A page that is one file without any address of another host, so that it works where nothing else can be reached. Its
 * policy lets exactly its own one style and one script run, by their hashes.
 */
export interface StaticPage {
  readonly html: string;
  /** Content-Security-Policy of the page. */
  readonly policy: string;
}

/**
 * @param asset path of the file below `src/`
 * @param values what stands for `{{name}}` in it; trusted text, it is not escaped
 */
export function loadStaticPage(asset: string, values: Readonly<Record<string, string>> = {}): StaticPage {
  let html = readAsset(asset).toString("utf8");
  for (const [name, value] of Object.entries(values)) html = html.replaceAll(`{{${name}}}`, value);
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
