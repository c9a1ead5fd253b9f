import { CopyButton } from "../ui/copy-button.tsx";
import { Panel } from "../ui/panel.tsx";

/** The commands that upload a folder with the LangGraph CLI. */
export function CommandLine() {
  const commands = [
    "export LANGSMITH_API_KEY=lsv2_sk_...",
    "cd my-agent",
    `npx @langchain/langgraph-cli@1.5.1 deploy --remote --name my-agent --host-url ${location.origin} --api-key $LANGSMITH_API_KEY`,
  ];
  return (
    <Panel title="From a folder, by the command line">
      <ol className="in-p grid gap-2">
        {commands.map((command) => (
          <li key={command} className="row">
            <code className="sm grow break-all bg-inset border border-line rounded-md px-2 py-1">
              {command}
            </code>
            <CopyButton text={command} label={`Copy ${command.split(" ")[0]}`} />
          </li>
        ))}
      </ol>
      <footer>The folder is uploaded and built as it is, without a repository.</footer>
    </Panel>
  );
}
