import { TopBar } from "../../shell/top-bar.tsx";
import { PageHeader } from "../../ui/panel.tsx";
import { AgentConnections } from "./agent-connections.tsx";
import { Integrations } from "./integrations.tsx";
import { Providers } from "./providers.tsx";
import { Tokens } from "./tokens.tsx";

export function ConnectionsPage() {
  return (
    <>
      <TopBar title="Connections" />
      <PageHeader
        title="Connections"
        sub="Hosts that Heddle reads repositories from, and accounts that agents act with."
      />
      <div className="stack">
        <Integrations />
        <Providers />
        <Tokens />
        <AgentConnections />
      </div>
    </>
  );
}
