ALTER TABLE `revisions` ADD `trigger` text;--> statement-breakpoint
ALTER TABLE `revisions` ADD `repo_commit_message` text;--> statement-breakpoint
ALTER TABLE `revisions` ADD `repo_commit_authored_at` text;--> statement-breakpoint
ALTER TABLE `revisions` ADD `steps` text;--> statement-breakpoint
ALTER TABLE `revisions` ADD `error_log_id` integer;