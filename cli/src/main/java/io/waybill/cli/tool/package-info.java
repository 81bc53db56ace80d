/** Commands that bundles of a node offer: started here, run in the node. */
package io.waybill.cli.tool;
