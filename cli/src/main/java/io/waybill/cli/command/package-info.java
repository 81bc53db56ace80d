/** Parts shared by all commands: their {@link io.waybill.cli.command.Surroundings}, options, errors and progress. */
package io.waybill.cli.command;
