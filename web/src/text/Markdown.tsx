import { memo, type ReactNode, useMemo } from "react";
import ReactMarkdown, { type Components, type Options } from "react-markdown";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { inert } from "./inert";
import { markBlocks, markFindings } from "./markdownMarks";

type PluggableList = NonNullable<Options["rehypePlugins"]>;

/** Images would fetch from elsewhere; raw HTML is not rendered at all. */
const schema = {
  ...defaultSchema,
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => !["img", "picture", "source"].includes(name)),
  attributes: { ...defaultSchema.attributes, a: ["href", ...(defaultSchema.attributes?.a ?? [])] },
  protocols: { href: ["http", "https"] },
};

/** The host of a link to another site, or `null` if it is not a link that may be followed. */
export function linkHost(href: string | undefined): string | null {
  try {
    const url = new URL(href ?? "");
    return url.protocol === "http:" || url.protocol === "https:" ? url.host : null;
  } catch {
    return null;
  }
}

function Link({ href, children }: { href?: string | undefined; children?: ReactNode }) {
  const host = linkHost(href);
  if (host === null || href === undefined) return <span>{children}</span>;
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer" className="underline">
        {children}
      </a>{" "}
      <span className="text-dim">({inert(host)})</span>
    </>
  );
}

const components: Components = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  // Headings of a text do not belong to the outline of the page.
  h1: ({ children }) => <p className="mt-4 text-base font-semibold">{children}</p>,
  h2: ({ children }) => <p className="mt-4 text-base font-semibold">{children}</p>,
  h3: ({ children }) => <p className="mt-3 font-semibold">{children}</p>,
  h4: ({ children }) => <p className="mt-3 font-semibold">{children}</p>,
  h5: ({ children }) => <p className="mt-3 font-semibold">{children}</p>,
  h6: ({ children }) => <p className="mt-3 font-semibold">{children}</p>,
  p: ({ children }) => <p className="my-2">{children}</p>,
  ul: ({ children }) => <ul className="my-2 list-disc pl-6">{children}</ul>,
  ol: ({ children }) => <ol className="my-2 list-decimal pl-6">{children}</ol>,
  li: ({ children }) => <li className="my-1">{children}</li>,
  blockquote: ({ children }) => (
    <blockquote className="my-2 border-l-2 border-line pl-3 text-dim">{children}</blockquote>
  ),
  code: ({ children }) => <code className="markdown-code">{children}</code>,
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <pre className="my-2 overflow-x-auto rounded border border-line bg-raised p-3" tabIndex={0}>
      {children}
    </pre>
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <div className="my-2 overflow-x-auto" tabIndex={0}>
      <table className="border-collapse">{children}</table>
    </div>
  ),
  th: ({ children }) => <th className="border border-line px-2 py-1 text-left">{children}</th>,
  td: ({ children }) => <td className="border border-line px-2 py-1">{children}</td>,
  hr: () => <hr className="my-4 border-line" />,
  // Of a task list; a text cannot contain any other.
  input: ({ checked }) => (
    <input type="checkbox" checked={checked === true} disabled aria-label={checked === true ? "done" : "not done"} />
  ),
};

/** Lines of the source, counted from 1. Every line lies between `first` and `last` of exactly one block. */
export interface SourceLines {
  start: number;
  end: number;
  first: number;
  last: number;
}

interface MarkdownProps {
  text: string;
  /** Draws the id of a finding that the text names, such as I-41. Not inside code. Keep it stable. */
  renderFinding?: ((id: string) => ReactNode) | undefined;
  /** Draws a paragraph, a list item or another block together with what belongs to its lines. Keep it stable. */
  renderBlock?: ((lines: SourceLines, block: ReactNode) => ReactNode) | undefined;
}

/** Markdown of an agent or a person. It can show structure and colour of code, nothing else. */
export const Markdown = memo(function Markdown({ text, renderFinding, renderBlock }: MarkdownProps) {
  const [plugins, parts] = useMemo((): [PluggableList, Components] => {
    const own: Record<string, unknown> = {};
    const added: PluggableList = [];
    // Sanitized before, so the text itself cannot contain these elements.
    if (renderFinding !== undefined) {
      added.push(markFindings);
      own["x-finding"] = ({ name }: { name: string }) => renderFinding(name);
    }
    if (renderBlock !== undefined) {
      added.push(markBlocks);
      own["x-block"] = ({ start, end, first, last, children }: SourceLines & { children?: ReactNode }) =>
        renderBlock({ start, end, first, last }, children);
    }
    return [[[rehypeSanitize, schema], ...added], { ...components, ...own } as Components];
  }, [renderFinding, renderBlock]);
  return (
    <div className="break-words">
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={plugins} components={parts}>
        {inert(text)}
      </ReactMarkdown>
    </div>
  );
});
