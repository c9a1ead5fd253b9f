ALTER TABLE `deployments` ADD `traffic` text;--> statement-breakpoint
ALTER TABLE `revisions` ADD `is_preview` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `revisions` ADD `deleted_at` text;