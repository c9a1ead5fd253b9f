ALTER TABLE `projects` ADD `sampling_rate` real;--> statement-breakpoint
ALTER TABLE `projects` ADD `sampled_since` text;