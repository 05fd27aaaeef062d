import { useEffect, useRef } from "react";
import type { Operations } from "../../api/generated";
import { UserText } from "../../text/UserText";
import { CliLine } from "../../ui/CliLine";
import { Press } from "../../ui/Press";
import { ArgumentTable } from "./ArgumentTable";
import { commands } from "./commands";
import { curlLine, type Operation, type Types } from "./model";
import { TryRead } from "./TryRead";
import { TypeName } from "./TypeName";

interface OperationCardProps {
  operation: Operation;
  types: Types;
  isOpen: boolean;
  /** The address names it: the page scrolls to it. */
  isFirst: boolean;
  onOpen: (isOpen: boolean) => void;
}

/** One operation: its line, and behind it all that a caller needs. */
export function OperationCard({ operation, types, isOpen, isFirst, onOpen }: OperationCardProps) {
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isFirst) card.current?.scrollIntoView({ block: "start" });
  }, [isFirst]);
  const { id, title, method, path } = operation;
  return (
    <article ref={card} aria-label={title} className="scroll-mt-12 rounded border border-line">
      <h3>
        <Press
          aria-expanded={isOpen}
          aria-controls={`operation-${id}`}
          onPress={() => onOpen(!isOpen)}
          className="flex w-full flex-wrap items-baseline gap-x-3 gap-y-1 px-3 py-2 text-left hover:bg-hover"
        >
          <span className={`w-14 font-mono text-xs font-semibold ${method === "GET" ? "text-ok" : "text-accent"}`}>
            {method}
          </span>
          <code className="break-all">{path.replace("/api/v1", "")}</code>
          <span className="text-dim">{title}</span>
        </Press>
      </h3>
      <div id={`operation-${id}`} hidden={!isOpen}>
        {isOpen && <Details operation={operation} types={types} />}
      </div>
    </article>
  );
}

function Details({ operation, types }: { operation: Operation; types: Types }) {
  const { id, description, tool, answer, canTry } = operation;
  const command = commands[id as keyof Operations];
  return (
    <div className="flex flex-col gap-3 border-t border-line px-3 py-3">
      <div className="max-w-3xl">
        <UserText text={description} />
      </div>
      <p className="text-xs text-dim">
        <code>{id}</code>
        {tool !== null && (
          <>
            {" "}
            · tool of agents: <code>{tool}</code>
          </>
        )}
      </p>
      <ArgumentTable operation={operation} types={types} />
      {answer !== null && (
        <div>
          <h4 className="font-medium">Answer</h4>
          <TypeName schema={answer} types={types} />
        </div>
      )}
      <div className="flex flex-col items-start gap-1">
        <h4 className="font-medium">In a terminal</h4>
        <CliLine line={curlLine(operation, types, location.origin)} />
        {command !== undefined && <CliLine line={command} />}
      </div>
      {canTry && <TryRead operation={operation} types={types} />}
    </div>
  );
}
