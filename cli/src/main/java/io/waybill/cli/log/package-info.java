/** The log of commands and programs: what {@code conf/logback.xml} says as it is shipped, without reading it as XML. */
package io.waybill.cli.log;
