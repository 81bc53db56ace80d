/** Log of commands and programs: the shipped {@code conf/logback.xml}, without an XML parser. */
package io.waybill.cli.log;
