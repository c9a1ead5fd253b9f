CREATE TABLE `feedback_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`workspace_id` text NOT NULL,
	`run_id` text NOT NULL,
	`key` text NOT NULL,
	`feedback_id` text NOT NULL,
	`expires_at` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `feedback_tokens_hash` ON `feedback_tokens` (`token_hash`);--> statement-breakpoint
CREATE INDEX `feedback_tokens_by_run` ON `feedback_tokens` (`workspace_id`,`run_id`);--> statement-breakpoint
CREATE INDEX `feedback_tokens_expired` ON `feedback_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `trace_shares` (
	`id` text PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`trace_id` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `trace_shares_token` ON `trace_shares` (`token_hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `trace_shares_trace` ON `trace_shares` (`workspace_id`,`trace_id`);--> statement-breakpoint
CREATE INDEX `trace_shares_project` ON `trace_shares` (`project_id`);