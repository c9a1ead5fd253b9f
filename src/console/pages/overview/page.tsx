import { TopBar } from "../../shell/top-bar.tsx";
import { LivePill } from "../../ui/live-pill.tsx";
import { PageHeader } from "../../ui/panel.tsx";
import { BrokenNow } from "./broken.tsx";

export function OverviewPage() {
  return (
    <>
      <TopBar title="Overview">
        <LivePill state="live" title="Read every 5 s while this page is visible" />
      </TopBar>
      <PageHeader title="Overview" />
      <BrokenNow />
    </>
  );
}
