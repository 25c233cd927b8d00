/**
 * Reading from an API server, as the collectors need it: plain GET requests, lists in pages. Nothing here writes, and
 * nothing watches.
 */

import { readJson } from "../../manifests/json-text.ts";
import { ManifestMap } from "../../manifests/manifest-node.ts";
import { expandDocument, type ManifestObject } from "../../manifests/manifest-object.ts";
import { NodeBudget } from "../../manifests/node-budget.ts";
import type { Selection } from "../../manifests/selection.ts";

export interface KubernetesApi {
  /** What the connection is called: the cluster of a kubeconfig. */
  readonly name: string;
  /**
   * Body of a GET request.
   * @param path with its query, from `/`
   * @throws KubernetesRequestError
   */
  read(path: string, accept: AcceptedForm): Promise<string>;
}

/** `metadata`: objects without spec and status, where the server can leave them out. */
export type AcceptedForm = "json" | "metadata" | "text";

export class KubernetesRequestError extends Error {
  /** 0 when no answer came. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "KubernetesRequestError";
    this.status = status;
  }
}

export const listPageSize = 500;
/** Objects that are as large as CRDs come in smaller pages. */
export const largeObjectPageSize = 50;
const maxPages = 10_000;
/** A page is bounded by the size of the response; its nodes need no bound of their own. */
const maxPageNodes = 50_000_000;

export interface ListOptions {
  readonly accept: AcceptedForm;
  readonly selection: Selection;
  readonly pageSize?: number;
  /** Further parameters, already encoded: `labelSelector=owner%3Dhelm`. */
  readonly query?: string;
  readonly onItem: (item: ManifestMap) => void;
  /** Called when the list begins anew: what was counted so far is void. */
  readonly onRestart: () => void;
}

export type ListOutcome = { readonly kind: "complete" } | { readonly kind: "partial"; readonly reason: string };

/**
 * Reads a list page by page. A token that has expired (410) begins the list anew once; expired again, the list is partial.
 * @throws KubernetesRequestError when the first page cannot be read
 */
export async function listAll(api: KubernetesApi, path: string, options: ListOptions): Promise<ListOutcome> {
  let token = "";
  let hasRestarted = false;
  for (let page = 0; page < maxPages; page += 1) {
    let text: string;
    try {
      text = await api.read(pagePath(path, options, token), options.accept);
    } catch (error) {
      if (token === "" || !(error instanceof KubernetesRequestError)) throw error;
      if (error.status !== 410) return { kind: "partial", reason: error.message };
      if (hasRestarted) return { kind: "partial", reason: "the list changed faster than it could be read" };
      hasRestarted = true;
      token = "";
      options.onRestart();
      continue;
    }
    const list = parseObject(text, pageSelection(options.selection));
    for (const item of list.maps("items")) options.onItem(item);
    token = list.map("metadata")?.text("continue") ?? "";
    if (token === "") return { kind: "complete" };
  }
  return { kind: "partial", reason: `it has more than ${maxPages} pages` };
}

/** @throws KubernetesRequestError when the body is not a JSON object */
export function parseObject(text: string, selection: Selection): ManifestMap {
  const reading = readJson(text, { selection, budget: new NodeBudget(maxPageNodes), firstLine: 1 });
  if (reading.kind === "read" && reading.root instanceof ManifestMap) return reading.root;
  throw new KubernetesRequestError(0, "the answer is no JSON object");
}

/** Items of a list as the manifest collectors know objects; a list leaves the types of its items out. */
export function asObject(item: ManifestMap, apiVersion: string, kind: string): ManifestObject | undefined {
  if (!item.fields.has("apiVersion")) item.fields.set("apiVersion", apiVersion);
  if (!item.fields.has("kind")) item.fields.set("kind", kind);
  return expandDocument(item).objects[0];
}

function pagePath(path: string, { pageSize = listPageSize, query }: ListOptions, token: string): string {
  const parts = [
    `limit=${pageSize}`,
    ...(query === undefined ? [] : [query]),
    ...(token === "" ? [] : [`continue=${encodeURIComponent(token)}`]),
  ];
  return `${path}?${parts.join("&")}`;
}

function pageSelection(item: Selection): Selection {
  const nothing: Selection = { fields: new Map(), rest: undefined };
  return {
    fields: new Map([
      ["metadata", { fields: new Map([["continue", nothing]]), rest: undefined }],
      ["items", item],
    ]),
    rest: undefined,
  };
}
