/** Processes that the command starts. */
package io.waybill.cli.process;
