/**
 * Which add-on an image is. Names are matched by whole path segments from the end, so registries and mirrors do not
 * matter (`registry.example/mirror/jetstack/cert-manager-controller` is cert-manager) and a name that only contains
 * another does not match (`acme/my-cert-manager-controller`). A name of one segment is too common to be found below
 * somebody's folder: it counts only as the whole path.
 *
 * Builds of cloud providers carry their own versions and life cycles under the same names: they match nothing.
 */
import type { AddOn, KnowledgeBase } from "./knowledge-base.ts";
import { parseVersion } from "./product-version.ts";

export interface ImageReference {
  /** Host with its port; empty when the name has none. */
  readonly host: string;
  readonly segments: readonly string[];
  readonly tag: string;
  readonly digest: string;
}

export interface RecognizedImage {
  readonly id: string;
  /** Numbers of the tag; empty for a digest or a tag without a version. */
  readonly version: string;
}

export interface ImageRecognizer {
  /** Undefined for images of no known add-on. */
  readonly recognize: (image: string) => RecognizedImage | undefined;
}

interface Matcher {
  readonly segments: readonly string[];
  readonly addOn: AddOn;
}

const providerHosts = [
  /^gke\.gcr\.io$/,
  /^mcr\.microsoft\.com$/,
  /^\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?$/,
  /^public\.ecr\.aws$/,
];
/** Accounts on `public.ecr.aws` that publish the upstream project itself. */
const upstreamAccounts = new Set(["karpenter"]);

const referencePattern = /^([^@\s]+?)(?::([\w][\w.-]{0,127}))?(?:@([\w+.-]+:[0-9a-fA-F]{8,}))?$/;

/** Undefined when the text is no image name. */
export function parseImageReference(image: string): ImageReference | undefined {
  const match = referencePattern.exec(image.trim());
  const name = match?.[1];
  if (match === null || name === undefined) return undefined;
  const parts = name.split("/");
  const [first = ""] = parts;
  const hasHost = parts.length > 1 && (first.includes(".") || first.includes(":") || first === "localhost");
  const segments = hasHost ? parts.slice(1) : parts;
  if (segments.some((segment) => segment === "")) return undefined;
  return { host: hasHost ? first : "", segments, tag: match[2] ?? "", digest: match[3] ?? "" };
}

export function createImageRecognizer(knowledgeBase: KnowledgeBase): ImageRecognizer {
  const matchers = new Map<string, Matcher[]>();
  for (const addOn of knowledgeBase.addOns) {
    for (const pattern of addOn.match.images) {
      const segments = pattern.split("/");
      const last = segments.at(-1) ?? "";
      const same = matchers.get(last);
      if (same === undefined) matchers.set(last, [{ segments, addOn }]);
      else same.push({ segments, addOn });
    }
  }
  for (const same of matchers.values()) same.sort((left, right) => right.segments.length - left.segments.length);
  return {
    recognize: (image) => {
      const reference = parseImageReference(image);
      if (reference === undefined || isProviderBuild(reference)) return undefined;
      const candidates = matchers.get(reference.segments.at(-1) ?? "") ?? [];
      const found = candidates.find((matcher) => matches(matcher.segments, reference.segments));
      return found && { id: found.addOn.id, version: parseVersion(reference.tag)?.join(".") ?? "" };
    },
  };
}

/** Registry of an image, with the default one filled in. */
export function registryOf(image: string): string | undefined {
  const reference = parseImageReference(image);
  return reference && (reference.host === "" ? "docker.io" : reference.host);
}

function isProviderBuild({ host, segments }: ImageReference): boolean {
  if (host === "gcr.io") return segments[0] === "gke-release";
  if (host === "public.ecr.aws") return !upstreamAccounts.has(segments[0] ?? "");
  return providerHosts.some((pattern) => pattern.test(host));
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length === 1) return segments.length === 1 && segments[0] === pattern[0];
  const from = segments.length - pattern.length;
  return from >= 0 && pattern.every((part, position) => segments[from + position] === part);
}
