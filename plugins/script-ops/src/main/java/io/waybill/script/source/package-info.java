/** The text of a TorchScript file before it is compiled, and what can be wrong with it. */
package io.waybill.script.source;
