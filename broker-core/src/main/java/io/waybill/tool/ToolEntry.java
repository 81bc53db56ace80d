package io.waybill.tool;

import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.dispatch.Provider;

/** A command that is there, and who offers it. */
record ToolEntry(Provider provider, ToolDescription description, ToolCommand command, ToolCounts counts) {}
