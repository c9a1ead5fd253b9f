import { getRouteApi, Link } from "@tanstack/react-router";
import { type ComponentType, useEffect, useRef } from "react";
import { useWorkspaceId } from "../../api/hooks.ts";
import { pathTo } from "../../state/path.ts";
import { Empty } from "../../ui/panel.tsx";
import { AuditLogSection } from "./audit/audit-log.tsx";
import { General } from "./general.tsx";
import { Keys } from "./keys/keys.tsx";
import { Members } from "./members/members.tsx";
import { Retention } from "./retention/retention.tsx";
import { Usage } from "./usage/usage.tsx";
import { Webhooks } from "./webhooks/webhooks.tsx";

const route = getRouteApi("/w/$workspace/settings/$section");

type Section = { name: string; label: string; component: ComponentType };

const SECTIONS: Section[] = [
  { name: "general", label: "General", component: General },
  { name: "members", label: "Members", component: Members },
  { name: "keys", label: "Keys", component: Keys },
  { name: "webhooks", label: "Webhooks", component: Webhooks },
  { name: "usage", label: "Usage and quotas", component: Usage },
  { name: "retention", label: "Trace retention", component: Retention },
  { name: "audit-log", label: "Audit log", component: AuditLogSection },
];

export function SettingsPage() {
  const { section } = route.useParams();
  const workspace = useWorkspaceId();
  const found = SECTIONS.find(({ name }) => name === section);
  const current = useRef<HTMLAnchorElement>(null);
  // Brings the link into view: on a phone the sections are a line that scrolls.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the link changes with the section
  useEffect(() => {
    current.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [section]);
  return (
    <div className="settings">
      <nav className="subnav" aria-label="Settings">
        <div className="nav">
          {SECTIONS.map(({ name, label }) => (
            <Link
              key={name}
              to={pathTo(workspace, `/settings/${name}`)}
              {...(name === section && { "aria-current": "page", ref: current })}
            >
              {label}
            </Link>
          ))}
        </div>
      </nav>
      <div className="min-w-0">
        {found ? <found.component /> : <Empty title="No such settings">Choose a section.</Empty>}
      </div>
    </div>
  );
}
