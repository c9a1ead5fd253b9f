// `npm run build`: what the tests and `wrangler deploy` need beside the sources; nothing of dist is committed.
import { BUILDER_FOLDER } from "./build/builder-modules.ts";
import { buildBuilder, buildBuilderModules, buildMainModules } from "./build/steps.ts";

await Promise.all([buildMainModules(), buildBuilderModules()]);
await buildBuilder(BUILDER_FOLDER);
