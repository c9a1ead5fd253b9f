// `npm run build`: what the tests and `wrangler deploy` need beside the sources; nothing of dist is committed.
import { BUILDER_FOLDER } from "./build/builder-modules.ts";
import { buildBuilder, buildBuilderModules, buildMainModules } from "./build/steps.ts";
import { readOptions } from "./options.ts";

readOptions({});
await Promise.all([buildMainModules(), buildBuilderModules()]);
await buildBuilder(BUILDER_FOLDER);
