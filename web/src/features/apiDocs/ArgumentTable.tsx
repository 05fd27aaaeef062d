import { Name } from "../../text/UserText";
import type { Operation, Types } from "./model";
import { TypeName } from "./TypeName";

/** The arguments of an operation, required ones first. */
export function ArgumentTable({ operation, types }: { operation: Operation; types: Types }) {
  if (operation.arguments.length === 0) return <p className="text-dim">It takes no arguments.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <div className="overflow-x-auto" tabIndex={0}>
      <table className="w-full text-left">
        <caption className="sr-only">Arguments of {operation.title}</caption>
        <thead className="text-xs text-dim">
          <tr>
            {["Argument", "In", "Type", "What it says"].map((title) => (
              <th key={title} scope="col" className="pr-4 font-medium">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="align-top">
          {operation.arguments.map(({ name, place, schema, isRequired, description }) => (
            <tr key={`${place} ${name}`} className="border-t border-line">
              <th scope="row" className="py-1 pr-4 font-normal whitespace-nowrap">
                <code className={isRequired ? "font-semibold" : ""}>{name}</code>
                {isRequired && <span className="ml-1 text-xs text-dim">required</span>}
              </th>
              <td className="py-1 pr-4 whitespace-nowrap text-dim">{place}</td>
              <td className="min-w-32 py-1 pr-4">
                <TypeName schema={schema} types={types} />
              </td>
              <td className="min-w-56 py-1">
                <Name>{description}</Name>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
