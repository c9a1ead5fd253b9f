import { type ReactNode, useMemo } from "react";
import { type Block, type Inline, parseInline, parseMarkdown } from "./markdown.ts";

/** Texts with more characters are not parsed: a message is parsed again with each token. */
const MAX_DRAWN = 20_000;

/** Draws Markdown as elements. Images become links, HTML stays text, and headings become paragraphs. */
export function MarkdownText({ text }: { text: string }) {
  const blocks = useMemo(() => (text.length > MAX_DRAWN ? null : parseMarkdown(text)), [text]);
  if (blocks === null) return <>{text}</>;
  return (
    <div className="md">
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks keep their order while a message grows
        <BlockView key={index} block={block} />
      ))}
    </div>
  );
}

function BlockView({ block }: { block: Block }): ReactNode {
  switch (block.kind) {
    case "code":
      return <pre className="md-code">{block.lines.join("\n")}</pre>;
    case "list":
      return <ListView items={block.items} />;
    case "heading":
      return <p className="md-h">{draw(block.text)}</p>;
    case "quote":
      return <blockquote>{draw(block.text)}</blockquote>;
    case "rule":
      return <hr />;
    case "text":
      return <p>{draw(block.text)}</p>;
    case "gap":
      return null;
  }
}

function ListView({ items }: { items: Extract<Block, { kind: "list" }>["items"] }) {
  return (
    <ul>
      {items.map(({ depth, marker, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items keep their order while a message grows
        <li key={index} style={{ marginInlineStart: `${depth}em` }}>
          <span className="dim">{/\d/.test(marker) ? marker : "•"}</span>
          <span>{draw(text)}</span>
        </li>
      ))}
    </ul>
  );
}

function draw(text: string): ReactNode {
  return drawParts(parseInline(text));
}

function drawParts(parts: Inline[]): ReactNode {
  return parts.map((part, index) => {
    if (typeof part === "string") return part;
    // biome-ignore lint/suspicious/noArrayIndexKey: parts keep their order while a message grows
    if (part.kind === "code") return <code key={index}>{part.text}</code>;
    if (part.kind !== "link") {
      // biome-ignore lint/suspicious/noArrayIndexKey: parts keep their order while a message grows
      return <part.kind key={index}>{drawParts(part.parts)}</part.kind>;
    }
    const { href, label } = part;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts keep their order while a message grows
      <a key={index} href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
        {label}
      </a>
    );
  });
}
